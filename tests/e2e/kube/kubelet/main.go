// fakelet plays the kubelet of every node in a cluster that has none: it keeps the nodes ready and
// takes the pods that are bound to them through their phases in real time. Nothing is executed.
//
// How long a pod runs, and how it ends, is said by annotations on the pod:
//
//	tests.sluice/run-seconds    how long it runs; default: the N of 'sleep N' in a container's
//	                            command, else 1. 'infinity' never ends by itself
//	tests.sluice/exit-code      how its containers end, default 0
//	tests.sluice/ready-seconds  how long it runs before it is ready, default 0
//	tests.sluice/stop-seconds   how long it takes to end when it is deleted, default 0; its grace
//	                            period is the limit
//
// A node that is annotated tests.sluice/down is not kept alive, and its pods stay as they are.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const (
	prefix = "tests.sluice/"
	// As a kubelet has them: renewed every 10 s, and worth nothing after 40 s.
	leaseRenewal  = 10 * time.Second
	leaseDuration = 40
	workers       = 16
)

type fakelet struct {
	client kubernetes.Interface
	nodes  corelisters.NodeLister
	pods   corelisters.PodLister
	// Keys are NAMESPACE/NAME of pods, and the bare NAME of nodes.
	queue workqueue.TypedRateLimitingInterface[string]

	mu sync.Mutex
	// When a pod began to run, and when it was first seen to be deleted. The object says both in
	// whole seconds only, which is too coarse for what takes a fraction of one.
	started, deleted map[types.UID]time.Time
	nextIP           uint32
}

// resources is a flag of the form NAME=AMOUNT that may be given again and again.
type resources corev1.ResourceList

func (r resources) String() string { return "" }
func (r resources) Set(text string) error {
	name, amount, _ := strings.Cut(text, "=")
	quantity, err := resource.ParseQuantity(amount)
	if err == nil {
		r[corev1.ResourceName(name)] = quantity
	}
	return err
}

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	offered := resources{}
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "how to reach the cluster")
	count := flag.Int("nodes", 0, "make nodes node-1 to node-N if they are not there; others are kept too")
	cpu := flag.String("cpu", "32", "allocatable of each node made")
	memory := flag.String("memory", "128Gi", "allocatable of each node made")
	pods := flag.String("pods", "110", "allocatable of each node made")
	flag.Var(offered, "resource", "NAME=AMOUNT: more allocatable of each node made; may be repeated")
	flag.Parse()
	for name, amount := range map[string]string{"cpu": *cpu, "memory": *memory, "pods": *pods} {
		if err := offered.Set(name + "=" + amount); err != nil {
			log.Fatalf("fakelet: --%s %s: %v", name, amount, err)
		}
	}

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatalf("fakelet: %v", err)
	}
	config.QPS = -1 // not a client that has to be modest
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatalf("fakelet: %v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	factory := informers.NewSharedInformerFactory(client, 0)
	f := &fakelet{
		client:  client,
		nodes:   factory.Core().V1().Nodes().Lister(),
		pods:    factory.Core().V1().Pods().Lister(),
		started: map[types.UID]time.Time{},
		deleted: map[types.UID]time.Time{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 5*time.Second)),
	}
	enqueue := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			f.queue.Add(key)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
		DeleteFunc: f.forget,
	}
	factory.Core().V1().Nodes().Informer().AddEventHandler(handler)
	factory.Core().V1().Pods().Informer().AddEventHandler(handler)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	for i := 1; i <= *count; i++ {
		if err := f.createNode(ctx, fmt.Sprintf("node-%d", i), corev1.ResourceList(offered)); err != nil {
			log.Fatalf("fakelet: %v", err)
		}
	}
	for range workers {
		go f.work(ctx)
	}
	<-ctx.Done()
}

func (f *fakelet) work(ctx context.Context) {
	for {
		key, quit := f.queue.Get()
		if quit {
			return
		}
		var again time.Duration
		var err error
		if namespace, name, isPod := strings.Cut(key, "/"); isPod {
			again, err = f.pod(ctx, namespace, name)
		} else {
			again, err = f.node(ctx, key)
		}
		f.queue.Done(key)
		switch {
		case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err):
			// Whoever changed or deleted it: the news of that is under way.
			f.queue.Forget(key)
			if again > 0 {
				f.queue.AddAfter(key, again)
			}
		default:
			log.Printf("%s: %v", key, err)
			f.queue.AddRateLimited(key)
		}
	}
}

// forget drops what is remembered about a pod that is gone.
func (f *fakelet) forget(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		f.mu.Lock()
		delete(f.started, pod.UID)
		delete(f.deleted, pod.UID)
		f.mu.Unlock()
	}
}

// ---- nodes ----

func (f *fakelet) createNode(ctx context.Context, name string, offered corev1.ResourceList) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{Capacity: offered, Allocatable: offered, Conditions: healthy()},
	}
	_, err := f.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// healthy gives the conditions of a node that works.
func healthy() []corev1.NodeCondition {
	now := metav1.Now()
	condition := func(kind corev1.NodeConditionType, yes bool, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: yesNo(yes), Reason: reason,
			LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, false, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, false, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, false, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, true, "KubeletReady"),
	}
}

// alive says whether a node is there and is to be kept ready.
func (f *fakelet) alive(name string) (*corev1.Node, bool) {
	node, err := f.nodes.Get(name)
	if err != nil {
		return nil, false
	}
	_, down := node.Annotations[prefix+"down"]
	return node, !down
}

// node renews a node's lease, and sets the node ready if it is not; again after leaseRenewal.
func (f *fakelet) node(ctx context.Context, name string) (time.Duration, error) {
	node, alive := f.alive(name)
	if !alive {
		return 0, nil
	}
	ready := false
	for _, c := range node.Status.Conditions {
		ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if !ready {
		_, err := f.client.CoreV1().Nodes().PatchStatus(ctx, name, patch(map[string]any{
			"status": map[string]any{"conditions": healthy()}}))
		if err != nil {
			return 0, err
		}
	}

	leases := f.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, duration := metav1.NowMicro(), int32(leaseDuration)
	_, err := leases.Patch(ctx, name, types.MergePatchType, patch(map[string]any{
		"spec": map[string]any{"renewTime": now, "holderIdentity": name}}), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID}}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &duration, RenewTime: &now},
		}, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) {
			return time.Second, nil // the namespace of leases is not there yet in a new cluster
		}
	}
	return leaseRenewal, err
}

// ---- pods ----

const forever = time.Duration(math.MaxInt64)

// pod takes a pod one step further, and says when to look at it again. What it does follows from
// the pod as it is known now; a write that meets a newer pod is refused, and the step made anew.
func (f *fakelet) pod(ctx context.Context, namespace, name string) (time.Duration, error) {
	pod, err := f.pods.Pods(namespace).Get(name)
	if err != nil || pod.Spec.NodeName == "" {
		return 0, nil
	}
	if _, alive := f.alive(pod.Spec.NodeName); !alive {
		return time.Second, nil // it may come back
	}
	deleting := pod.DeletionTimestamp != nil
	restarts := int32(0)
	if len(pod.Status.ContainerStatuses) > 0 {
		restarts = pod.Status.ContainerStatuses[0].RestartCount
	}
	ready := seconds(pod, "ready-seconds", 0)

	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		if !deleting || *pod.DeletionGracePeriodSeconds == 0 {
			return 0, nil // if deleted, then without grace, and somebody's finalizer still holds it
		}
		zero := int64(0)
		return 0, f.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{
			GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	case corev1.PodRunning:
	default:
		if deleting {
			return 0, f.write(ctx, pod, status{phase: corev1.PodFailed, code: 143, began: time.Now()})
		}
		return 0, f.write(ctx, pod, status{phase: corev1.PodRunning, ready: ready == 0, began: f.start(pod)})
	}

	began := f.began(pod)
	runs, ends := time.Since(began), seconds(pod, "run-seconds", sleeps(pod))
	code, _ := strconv.Atoi(pod.Annotations[prefix+"exit-code"])
	switch {
	case pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		ends = forever // a service; that it is restarted now and then would tell nothing
	case pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && code != 0 && runs >= ends && !deleting:
		return 0, f.write(ctx, pod, status{phase: corev1.PodRunning, ready: ready == 0, began: f.start(pod),
			restarts: restarts + 1})
	}
	if runs >= ends {
		phase := corev1.PodSucceeded
		if code != 0 {
			phase = corev1.PodFailed
		}
		return 0, f.write(ctx, pod, status{phase: phase, code: code, began: began, restarts: restarts})
	}
	again := ends - runs
	if deleting {
		left := f.left(pod)
		if left <= 0 {
			// Controllers that count how pods end must see it before the object is gone. The news of
			// this write leads to the case above that deletes it.
			return 0, f.write(ctx, pod, status{phase: corev1.PodFailed, code: 143, began: began, restarts: restarts})
		}
		again = min(again, left)
	}
	if !isReady(pod) {
		if runs >= ready {
			return 0, f.write(ctx, pod, status{phase: corev1.PodRunning, ready: true, began: began, restarts: restarts})
		}
		again = min(again, ready-runs)
	}
	return again, nil
}

// start notes that a pod begins to run now.
func (f *fakelet) start(pod *corev1.Pod) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started[pod.UID] = time.Now()
	return f.started[pod.UID]
}

// began says when a pod began to run.
func (f *fakelet) began(pod *corev1.Pod) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, known := f.started[pod.UID]
	if !known && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Running != nil {
		return pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time // by an earlier fakelet
	}
	return at
}

// left says how long a pod that is being deleted still runs.
func (f *fakelet) left(pod *corev1.Pod) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.deleted[pod.UID]; !known {
		f.deleted[pod.UID] = time.Now()
	}
	return min(time.Until(f.deleted[pod.UID].Add(seconds(pod, "stop-seconds", 0))),
		time.Until(pod.DeletionTimestamp.Time))
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// seconds reads a duration from an annotation.
func seconds(pod *corev1.Pod, name string, otherwise time.Duration) time.Duration {
	text, given := pod.Annotations[prefix+name]
	if !given {
		return otherwise
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		log.Printf("%s/%s: %s%s: not a number: %q", pod.Namespace, pod.Name, prefix, name, text)
		return otherwise
	}
	return duration(value)
}

var sleep = regexp.MustCompile(`\bsleep ([0-9.]+|infinity)([smhd]?)`)

// sleeps finds how long the longest 'sleep N' of a pod's containers is; 1 s if there is none.
func sleeps(pod *corev1.Pod) time.Duration {
	longest := -1.0
	for _, c := range pod.Spec.Containers {
		words := strings.Join(c.Command, " ") + " " + strings.Join(c.Args, " ")
		if found := sleep.FindStringSubmatch(words); found != nil {
			value, _ := strconv.ParseFloat(found[1], 64) // knows infinity, too
			longest = max(longest, value*map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]])
		}
	}
	if longest < 0 {
		return time.Second
	}
	return duration(longest)
}

// duration holds at the longest that can be said, some 290 years.
func duration(seconds float64) time.Duration {
	if seconds >= forever.Seconds() {
		return forever
	}
	return time.Duration(seconds * float64(time.Second))
}

// status is what the containers of a pod have come to; all of them share it.
type status struct {
	phase    corev1.PodPhase
	ready    bool
	code     int
	began    time.Time
	restarts int32
}

// write sets the status of a pod, if the pod is still the one that the decision was made about.
func (f *fakelet) write(ctx context.Context, pod *corev1.Pod, s status) error {
	now, began := metav1.Now(), metav1.NewTime(s.began)
	new := corev1.PodStatus{Phase: s.phase}
	terminated := func(code int, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: int32(code), Reason: reason, StartedAt: began, FinishedAt: now}}
	}
	state := terminated(s.code, "Completed")
	switch {
	case s.phase == corev1.PodRunning:
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
	case s.code != 0:
		state = terminated(s.code, "Error")
	}
	for _, c := range pod.Spec.InitContainers {
		new.InitContainerStatuses = append(new.InitContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, State: terminated(0, "Completed")})
	}
	started := s.phase == corev1.PodRunning
	for _, c := range pod.Spec.Containers {
		new.ContainerStatuses = append(new.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image,
			Ready: s.ready, Started: &started, RestartCount: s.restarts, State: state})
	}
	if pod.Status.StartTime == nil {
		f.mu.Lock()
		f.nextIP++
		ip := fmt.Sprintf("10.%d.%d.%d", 1+f.nextIP>>16&0x7f, f.nextIP>>8&0xff, f.nextIP&0xff)
		f.mu.Unlock()
		new.StartTime, new.PodIP, new.PodIPs, new.HostIP = &began, ip, []corev1.PodIP{{IP: ip}}, "127.0.0.1"
	}

	// Conditions are merged by their type, so those of others stay; one that stays as it is keeps
	// the time of its last change.
	reason := map[bool]string{true: "", false: "ContainersNotReady"}[s.ready]
	if s.phase == corev1.PodSucceeded {
		reason = "PodCompleted"
	}
	for _, c := range []corev1.PodCondition{
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: yesNo(s.ready), Reason: reason},
		{Type: corev1.PodReady, Status: yesNo(s.ready), Reason: reason},
	} {
		c.LastTransitionTime = now
		for _, old := range pod.Status.Conditions {
			if old.Type == c.Type && old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
		new.Conditions = append(new.Conditions, c)
	}
	_, err := f.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		patch(map[string]any{
			"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
			"status":   new,
		}), metav1.PatchOptions{}, "status")
	return err
}

func yesNo(yes bool) corev1.ConditionStatus {
	if yes {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

func patch(object any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // maps and API types: cannot be
	}
	return text
}
