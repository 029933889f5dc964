# SPDX-License-Identifier: Apache-2.0
"""Rules of definitions: which a real kube-apiserver and ours accept, and what these say of the same objects.

SL_RULES='split(' tests/e2e/run up/test_cel.py     # only those with this in them
"""

import concurrent.futures
import os
import re

import pytest

from kube import Cluster, until
from sluice import say
from test_definitions import DEFINITIONS, ask, definition, place
from up import Up

TIME_LIMIT = 280
ONLY = os.environ.get("SL_RULES") or ""
PER_DEFINITION = 30
real = ours = None


@pytest.fixture(scope="module", autouse=True)
def both():
    """A real API server, and ours."""
    global real, ours
    with Cluster(only="api") as real, Up(controllers=False) as ours:
        yield


def logs():
    return ours.log(15)


def text(**more):
    return {"type": "string", "maxLength": 30, **more}


def items(of, **more):
    return {"type": "array", "maxItems": 5, "items": of, **more}


PART = {"type": "object", "required": ["id"], "properties": {"id": text(), "n": {"type": "integer"}}}
FIELDS = {
    "s": text(),
    "t": text(),
    "empty": text(),
    "none": text(),
    "nil": text(nullable=True),
    "i": {"type": "integer"},
    "d": {"type": "number"},
    "whole": {"type": "number"},
    "b": {"type": "boolean"},
    "ints": items({"type": "integer"}),
    "reals": items({"type": "number"}),
    "words": items(text()),
    "set": items(text(), **{"x-kubernetes-list-type": "set"}),
    "parts": items(PART, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]}),
    "map": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer"}},
    "obj": {"type": "object", "properties": {"x": text(), "y": {"type": "integer"}}},
    "time": text(format="date-time"),
    "day": text(format="date"),
    "span": text(format="duration"),
    "bytes": text(format="byte"),
    "either": {"x-kubernetes-int-or-string": True},
    "other": {"x-kubernetes-int-or-string": True},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "a-b": text(),
    "a.b": text(),
    "a__b": text(),
    "namespace": text(),
}
OBJECT = {
    "s": "text",
    "t": "Größe 10",
    "empty": "",
    "nil": None,
    "i": 42,
    "d": 1.5,
    "whole": 2,
    "b": True,
    "ints": [3, 1, 2],
    "reals": [1, 2.5],
    "words": ["b", "a", "a"],
    "set": ["x", "y"],
    "parts": [{"id": "p", "n": 1}, {"id": "q"}],
    "map": {"one": 1, "two": 2},
    "obj": {"x": "in"},
    "time": "2024-02-29T12:30:45.5Z",
    "day": "2024-02-29",
    "span": "1h30m",
    "bytes": "aGVsbG8=",
    "either": 5,
    "other": "50%",
    "free": {"any": [1]},
    "a-b": "dash",
    "a.b": "dot",
    "a__b": "scores",
    "namespace": "space",
}

# One in a line; what is false, or cannot be evaluated, is compared too.
RULES = r"""
self.s == 'text'
self.i + 1 == 43
self.i / 5 == 8 && self.i % 5 == 2 && -self.i == -42
self.d * 2.0 == 3.0
self.whole / 4.0 == 0.5
self.whole == 2
self.whole == 2.0
self.d > 1
self.i < 42.5
1 / 0 == 1
self.i / (self.i - 42) == 1
self.i % (self.i - 42) == 1
9223372036854775807 + self.i > 0
-9223372036854775808 - self.i < 0
self.i * 9223372036854775807 > 0
has(self.none)
!has(self.none) && has(self.s) && has(self.empty)
has(self.nil)
self.none == ''
self.obj.y == 1
has(self.obj.x) && !has(self.obj.y)
self.nosuch == 1
self.s.nosuch == 1
self.i.x == 1
self.a__dash__b == 'dash' && self.a__dot__b == 'dot' && self.a__underscores__b == 'scores'
self.__namespace__ == 'space'
self.namespace == 'space'
self.ints[0] == 3
self.ints[3] == 3
self.ints[-1] == 3
self.map['one'] == 1
self.map['three'] == 3
self.map.one == 1
'one' in self.map && !('three' in self.map)
3 in self.ints && !(7 in self.ints)
'x' in self.ints
self.ints == [3, 1, 2]
self.ints == [1, 2, 3]
self.set == ['y', 'x']
self.words == ['a', 'b', 'a']
self.set + ['x', 'z'] == ['x', 'y', 'z']
self.words + ['z'] == ['b', 'a', 'a', 'z']
self.ints + [4] == [3, 1, 2, 4]
self.ints + ['a'] == []
self.parts.all(p, p.id != '')
self.parts.map(p, p.id) == ['p', 'q']
self.parts.exists(p, p.n == 1)
self.parts.all(p, p.n == 1)
self.parts.exists_one(p, p.id == 'q')
self.parts.filter(p, has(p.n)).size() == 1
self.parts.filter(p, p.n > 0).size() == 1
self.map.all(k, self.map[k] > 0)
self.map.exists(k, k == 'two')
self.map.map(k, k).size() == 2
self.ints.map(x, x > 1, x * 10) == [30, 20]
self.words.exists_one(w, w == 'a')
size(self.t) == 8 && self.t.size() == 8
size(self.bytes) == 5 && self.bytes == b'hello'
self.bytes == bytes('hello') && string(self.bytes) == 'hello'
self.ints.size() == 3 && size(self.map) == 2
self.t.contains('ß') && self.s.startsWith('te') && self.s.endsWith('xt')
self.s.matches('^t.*t$')
matches(self.s, '[0-9]')
self.s.matches('(')
self.s.matches(self.t)
self.t.find('[0-9]+') == '10'
self.s.find('[0-9]+') == ''
self.s.findAll('t') == ['t', 't']
self.s.findAll('t', 1) == ['t'] && self.s.findAll('q') == []
'a1b22'.findAll('[0-9]*') == ['', '1', '', '22']
self.t.charAt(2) == 'ö' && self.s.charAt(4) == ''
self.s.charAt(5) == ''
self.t.indexOf('e') == 4 && self.t.indexOf('q') == -1 && self.s.indexOf('t', 1) == 3
self.s.lastIndexOf('t') == 3 && self.s.lastIndexOf('t', 2) == 0 && self.s.indexOf('') == 0
self.s.indexOf('t', -1) == 0
self.t.lowerAscii() == 'größe 10' && self.s.upperAscii() == 'TEXT'
self.s.replace('t', 'T') == 'TexT' && self.s.replace('t', 'T', 1) == 'Text' && 'ab'.replace('', '-') == '-a-b-'
'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && ''.split(',') == ['']
'äb'.split('') == ['ä', 'b'] && 'a,b'.split(',', 0) == []
self.t.substring(2) == 'öße 10' && self.t.substring(0, 2) == 'Gr'
self.s.substring(5) == ''
self.s.substring(3, 2) == ''
' \t x \n'.trim() == 'x'
self.words.join() == 'baa' && self.words.join(',') == 'b,a,a' && [].join() == ''
self.ints.join(',') == ''
strings.quote('a"b\n') == '"a\\"b\\n"'
'%s %d %b %x %X %o %x'.format(['a', 1, 5, 255, 255, 8, 'az']) == 'a 1 101 ff FF 10 617a'
'%f %.2f %.0f'.format([1.5, -1234567.891, 2.5]) == '1.500000 -1,234,567.89 2'
'%e %.1e'.format([1.5, 0.00012]) == '1.500000×10⁰⁰ 1.200000×10⁻⁰⁴'
'%f'.format([1]) == '1.000000'
'%d'.format([1.5]) == '1'
'%s'.format([[1, 2]]) == '[1, 2]' && '%s'.format([['a"', 'b']]) == '["a\\"", "b"]'
'%s'.format([[1.5]]) == '[1.500000]'
'%s'.format([{'b': 1, 'a': 2}]) == '{"a":2, "b":1}' && '%s'.format([[duration('1s')]]) == '[duration("1s")]'
'%s %s %s'.format([true, null, b'x']) == 'true null x' && '%s'.format([type(1)]) == 'int'
'%s %s'.format([duration('90s'), timestamp('2024-01-01T00:00:00Z')]) == '90s 2024-01-01T00:00:00Z'
'%s %s'.format([1.0, 1e20]) == '1 1e+20'
'%d'.format(['a']) == 'a'
'%s'.format([]) == ''
'100%%'.format([]) == '100%'
self.s.reverse() == 'txet'
int('42') == self.i && int(42.9) == 42 && int(5u) == 5
int('x') == 1
int(1e30) == 1
uint(5) == 5u && uint('7') == 7u && 5u + 1u == 6u
uint(-1) == 1u
0u - 1u == 0u
double('1.5') == self.d && double(3) == 3.0
double('x') == 1.0
string(self.i) == '42' && string(1.5) == '1.5' && string(true) == 'true' && string(1e6) == '1e+06'
string(duration('1h30m1.5s')) == '5401.5s' && string(timestamp('2024-02-29T12:30:45.5Z')) == '2024-02-29T12:30:45.5Z'
bool('true') && !bool('0')
bool('yes')
type(self.i) == int && type(self.s) == string && type(self.d) == double && type(self.ints) == list
type(self.either) == int && type(self.other) == string
type(null) == null_type && type(int) == type && type(b'') == bytes && type(1u) == uint && type({}) == map
type(self.span) == google.protobuf.Duration && type(self.time) == google.protobuf.Timestamp
self.either == 5 && self.other == '50%'
self.either < 6
self.other < 6
self.either.startsWith('a')
int(self.other.replace('%', '')) == 50
dyn(self.s) == 'text' && dyn(1) == 1
dyn(1) == 'a'
self.s < 'u' && 'a' < 'b' && b'a' < b'b' && false < true
self.s < 1
self.s + 1 == ''
self.span == duration('90m') && self.span > duration('1h') && self.span + duration('30m') == duration('2h')
self.span - duration('2h') == duration('-30m') && self.span.getMinutes() == 90 && self.span.getSeconds() == 5400
duration('1h').getHours() == 1 && duration('1.5s').getMilliseconds() == 1500
duration('x') == duration('1s')
duration(self.s) == duration('1s')
duration('1us') + duration('1ms') + duration('1ns') > duration('0s')
self.time == timestamp('2024-02-29T12:30:45.5Z') && self.time > timestamp('2024-01-01T00:00:00+01:00')
self.time.getFullYear() == 2024 && self.time.getMonth() == 1 && self.time.getDate() == 29
self.time.getDayOfMonth() == 28
self.time.getDayOfWeek() == 4 && self.time.getDayOfYear() == 59 && self.time.getHours() == 12
self.time.getMinutes() == 30
self.time.getSeconds() == 45 && self.time.getMilliseconds() == 500 && self.time.getHours('+02:00') == 14
self.time.getHours('UTC') == 12 && self.time.getMinutes('-00:30') == 0
self.day.getDate() == 29 && self.day == timestamp('2024-02-29T00:00:00Z')
self.time + self.span == timestamp('2024-02-29T14:00:45.5Z') && self.time - self.span < self.time
self.time - timestamp('2024-02-29T12:30:45Z') == duration('500ms')
timestamp('2024-02-30T00:00:00Z') == self.time
timestamp(self.s) == self.time
timestamp(0) == timestamp('1970-01-01T00:00:00Z') && int(timestamp('1970-01-01T00:01:00Z')) == 60
timestamp('9999-12-31T23:59:59Z') + duration('1s') > self.time
self.ints.sum() == 6 && self.reals.sum() == 3.5 && self.ints.min() == 1 && self.ints.max() == 3
self.words.max() == 'b'
[].sum() == 0
self.ints.filter(x, x > 9).min() == 0
[duration('1s'), duration('2s')].sum() == duration('3s')
!self.ints.isSorted() && [1, 2, 2].isSorted() && self.reals.isSorted()
self.words.indexOf('a') == 1 && self.words.lastIndexOf('a') == 2 && self.words.indexOf('q') == -1
self.words.sum() == 'baa'
self.ints.slice(0, 2) == [3, 1]
self.ints.slice(0, 4) == []
[[1], [2, 3]].flatten() == [1, 2, 3]
[[[1]], [[2]]].flatten(2) == [1, 2]
self.ints.sort() == [1, 2, 3] && self.words.sort() == ['a', 'a', 'b'] && self.ints.reverse() == [2, 1, 3]
self.words.distinct() == ['b', 'a'] && lists.range(3) == [0, 1, 2]
self.parts.sortBy(p, p.id).size() == 2 && self.ints.sortBy(x, -x) == [3, 2, 1]
sets.contains(self.words, ['a']) && sets.equivalent(self.words, ['a', 'b']) && sets.intersects(self.ints, [9, 1])
sets.contains(self.words, ['a', 'z'])
isURL('https://a.b/c?d=e#f') && isURL('/x') && !isURL('a.b') && !isURL('') && isURL('mailto:x')
url('https://user:pw@a.b:80/c%20d/?x=1&x=2&y=a+b').getHost() == 'a.b:80'
url('https://[::1]:80/a').getHostname() == '::1' && url('https://[::1]:80/a').getPort() == '80'
url('https://a.b/c d').getEscapedPath() == '/c%20d' && url('https://a.b').getEscapedPath() == ''
url('https://a.b/c%2Fd?q#f').getEscapedPath() == '/c%2Fd' && url('HTTPS://a.b').getScheme() == 'https'
url('https://a.b/?x=1&x=2&y=a+b').getQuery() == {'x': ['1', '2'], 'y': ['a b']}
url('https://a.b/?').getQuery() == {}
url('a.b').getHost() == ''
url('https://a.b/x#y').getEscapedPath() == '/x'
isURL('https://a b/') || isURL('https://a.b:x/') || isURL('https://[::1/') || isURL('https://a%zz/')
isURL('1http://a')
isURL('http://a:1:2/') || isURL('http://[1.2.3.4]/') || isURL('http://a/%zz') || isURL('://a')
isURL('ftp://a:1:2/') && isURL('http://ä.b/ä') && isURL('http:///x') && isURL('*')
isIP('1.2.3.4') && isIP('::1') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')
!isIP('01.2.3.4')
ip('1.2.3.4').family() == 4 && ip('::1').family() == 6 && ip('::1').isLoopback() && ip('127.1.1.1').isLoopback()
ip('0.0.0.0').isUnspecified() && ip('224.0.0.1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast()
ip('8.8.8.8').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && ip('fe80::1').isLinkLocalUnicast()
ip('2001:db8::1') == ip('2001:DB8:0::1') && string(ip('2001:DB8:0:0:1:0:0:1')) == '2001:db8::1:0:0:1'
ip.isCanonical('::1') && !ip.isCanonical('0::1')
ip('x') == ip('1.2.3.4')
ip.isCanonical('x')
isCIDR('10.0.0.0/8') && isCIDR('::/0') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08')
isCIDR('10.0.0.1/8')
cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))
!cidr('10.0.0.0/8').containsIP('::1')
cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))
cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')
cidr('10.0.0.0/8').prefixLength() == 8
string(cidr('2001:db8::/32')) == '2001:db8::/32'
cidr('x') == cidr('10.0.0.0/8')
cidr('10.0.0.0/8').containsIP('x')
isQuantity('1Gi') && isQuantity('1.5') && !isQuantity('1Q') && !isQuantity('')
quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1').isLessThan(quantity('1001m'))
quantity('1k').compareTo(quantity('1000')) == 0
quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').sub(20000) == quantity('30k')
quantity('5').add(1).asInteger() == 6
sign(quantity('-5')) == -1 && sign(quantity('0')) == 0 && quantity('1.5').asApproximateFloat() == 1.5
quantity('5').isInteger() && !quantity('1.5').isInteger()
quantity('1.5').asInteger() == 1
quantity('x') == quantity('1')
semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2
semver('1.2.3').patch() == 3
semver('1.0.0-alpha.1').compareTo(semver('1.0.0')) == -1 && semver('1.0.0-2').isLessThan(semver('1.0.0-11'))
semver('1.0.0+a') == semver('1.0.0+b')
isSemver('1.2.3') && !isSemver('1.2') && !isSemver('v1.2.3') && isSemver('v1.2', true) && !isSemver('01.2.3')
isSemver('01.2', true)
semver('v1.2', true) == semver('1.2.0')
semver('x') == semver('1.0.0')
!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue()
format.dns1123Label().validate('A').value()[0].startsWith('a lowercase RFC 1123 label')
!format.dns1123Subdomain().validate('a.b').hasValue() && !format.dns1035Label().validate('a1').hasValue()
format.dns1035Label().validate('1a').hasValue()
!format.qualifiedName().validate('a.b/C').hasValue() && !format.labelValue().validate('A_b').hasValue()
format.labelValue().validate('-').hasValue()
!format.dns1123LabelPrefix().validate('a-').hasValue()
!format.dns1123SubdomainPrefix().validate('a.b-').hasValue() && !format.dns1035LabelPrefix().validate('a-').hasValue()
!format.uri().validate('https://a.b').hasValue() && format.uri().validate('a').hasValue()
!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()
format.uuid().validate('x').value() == ['does not match the UUID format']
!format.byte().validate('aGVsbG8=').hasValue() && format.byte().validate('?').value() == ['invalid base64']
!format.date().validate('2024-02-29').hasValue() && format.date().validate('2024-02-30').value() == ['invalid date']
!format.datetime().validate('2024-02-29T00:00:00Z').hasValue()
format.datetime().validate('x').value() == ['invalid datetime']
format.named('dns1123Label').hasValue() && !format.named('x').hasValue()
format.named('uuid').value().validate('x').hasValue()
self.?none.orValue('d') == 'd' && self.?s.orValue('d') == 'text' && !self.?none.hasValue()
self.?obj.?x.value() == 'in' && self.?obj.y.orValue(7) == 7 && self.obj.?y.or(optional.of(1)).value() == 1
self.map[?'three'].orValue(3) == 3 && self.ints[?9].hasValue() == false && self.?nosuch.hasValue()
self.?none.value() == ''
optional.of(1).value() == optional.of(1).value()
optional.ofNonZeroValue('').hasValue() || optional.ofNonZeroValue(0).hasValue()
self.?s.optMap(x, x.size()).orValue(0) == 4 && self.?none.optMap(x, x.size()).orValue(0) == 0
self.?s.optFlatMap(x, optional.of(x)).value() == 'text'
[?self.?none, ?self.?s] == ['text'] && {?'a': self.?none, 'b': 'c'} == {'b': 'c'}
self.?s.orValue(1) == 1
[optional.of(1), optional.none()].unwrapOpt() == [1]
r'\d' == '\\d' && R"\x" == "\\x" && '\u00e4' == 'ä' && '\x41\101' == 'AA' && "\"'" == '"\''
r'''a'b''' == "a'b" && \"\"\"a"b\"\"\" == 'a"b'
b'\xff\000' != b'\377' && br'\x' == b'\\x' && b'ä' == b'\xc3\xa4'
0x1F == 31 && 1e3 == 1000.0 && .5 == 0.5 && 5u == 0x5u && -1 < 0
{'a': 1, 'b': 2}['b'] == 2 && {'a': {'b': 1}}.a.b == 1 && {1: 2}[1] == 2 && {true: 1}[true] == 1
{'a': 1}['b'] == 1
[1, 2][5] == 1
{'a': 1, 'a': 2}.size() == 1
{'a': 1} == {'a': 1} && {'a': 1, 'b': 2} == {'b': 2, 'a': 1} && {'a': 1} != {'a': 2}
[1, 'a'].size() == 2
[1, 2.0].size() == 2
(self.b ? 1 : 2) == 1 && (self.b ? 'a' : 'b') == 'a'
self.b ? 1 : 2
(self.b ? 1 : 'a') == 1
self.b || 1 / 0 == 1
1 / 0 == 1 || self.b
self.none == '' || self.b
self.none == '' && !self.b
!self.b || self.none == 'x'
self.i
self
self == self
self.s == 1
self.s == null
self.nil == null
self.obj == null
self.free == self.free
self.free.any == [1]
self.parts == self.parts && self.obj == self.obj && self.parts != []
self.parts + self.parts == self.parts
self.words.exists(i, w, i == 0 && w == 'b') && self.map.all(k, v, v == self.map[k])
self.words.existsOne(i, w, i == 1)
self.words.transformList(i, w, '%d%s'.format([i, w])) == ['0b', '1a', '2a']
self.ints.transformList(i, x, i > 0, x) == [1, 2]
self.map.transformMap(k, v, v * 2) == {'one': 2, 'two': 4} && self.map.transformMap(k, v, v > 1, v) == {'two': 2}
self.map.transformMapEntry(k, v, {'x' + k: v}).size() == 2
self.map.transformMapEntry(k, v, {'x': v}).size() == 1
self.words.all(w, w.size() > 0 && self.words.exists(v, v == w))
self.words.all(self, self != '')
unknown(self.s)
self.s.unknown()
unknown == 1
self.s.startsWith(1)
self.s.size(1) == 1
size() == 1
has(self)
has(self.s, 1)
self.ints.all(x)
self.ints.all(1, true)
self.i.all(x, true)
self.words.all(w, w.size())
self.words.map(w, w.size()) == [1, 1, 1]
true // with a comment
self.s in ['text', 'other'] && !(self.i in [1, 2])
self.i in [1, 'a']
[1, 2, 3].exists(x, x > 2) && ![1].exists(x, x > 2) && [].all(x, false)
cel.bind(x, 1, x == 1)
math.greatest(1, 2) == 2
base64.encode(b'x') == ''
'abc'[0] == 'a'
self.time.getFullYear('Nowhere') == 2024
string(self.ints) == ''
int(true) == 1
self.a-b == 1
self.'s' == 1
self..s == 1
self.s ==
'open
self.bytes + b'!' == b'hello!'
google.protobuf.Duration == type(self.span)
int
self.spec == 1
""".strip()

OLD_RULES = [
    ({"rule": "self.i >= oldSelf.i"}, {}),
    ({"rule": "self.s == oldSelf.s", "message": "s is immutable"}, {}),
    ({"rule": "!oldSelf.hasValue() || oldSelf.value().s == self.s", "optionalOldSelf": True}, {}),
    ({"rule": "oldSelf.orValue(self).i <= self.i", "optionalOldSelf": True}, {}),
    ({"rule": "self.i > 0", "optionalOldSelf": True}, {}),
    ({"rule": "self.i < 10"}, {}),
]

# Rules with more than an expression: what is said of the object, or of the definition.
WORDS = [
    {"rule": "false"},
    {"rule": "false", "message": "no"},
    {"rule": "false", "message": " no "},
    {"rule": "false", "message": " "},
    {"rule": "false", "message": "a\nb"},
    {"rule": "false &&\nfalse"},
    {"rule": "false &&\nfalse", "message": "two lines"},
    {"rule": ""},
    {"rule": "false", "reason": "FieldValueForbidden", "message": "m"},
    {"rule": "false", "reason": "FieldValueRequired", "message": "m"},
    {"rule": "false", "reason": "FieldValueDuplicate", "message": "m"},
    {"rule": "false", "reason": "FieldValueInvalid", "message": "m"},
    {"rule": "false", "reason": "Other", "message": "m"},
    {"rule": "false", "fieldPath": ".s"},
    {"rule": "false", "fieldPath": ".obj.x", "reason": "FieldValueForbidden"},
    {"rule": "false", "fieldPath": ".map['one']"},
    {"rule": "false", "fieldPath": "['a-b']"},
    {"rule": "false", "fieldPath": ".nosuch"},
    {"rule": "false", "fieldPath": "s"},
    {"rule": "false", "fieldPath": ".ints[0]"},
    {"rule": "false", "fieldPath": " "},
    {"rule": "false", "messageExpression": "'i is %d'.format([self.i])"},
    {"rule": "false", "messageExpression": "'%e|%.1e|%e|%f'.format([1.5, 0.00012, 1e100, 0.0])"},
    {"rule": "false", "messageExpression": "'  trimmed '"},
    {"rule": "false", "messageExpression": "''", "message": "instead"},
    {"rule": "false", "messageExpression": "'a\\nb'", "message": "instead"},
    {"rule": "false", "messageExpression": "self.none", "message": "instead"},
    {"rule": "false", "messageExpression": "self.i"},
    {"rule": "false", "messageExpression": "self.nosuch"},
    {"rule": "false", "messageExpression": " "},
    {"rule": "self.ints[7] == 1", "message": "told where it fails"},
    {"rule": "self.either.size() == 1"},
]


def with_rules(plural, rules, fields=FIELDS):
    spec = {"type": "object", "properties": fields, "x-kubernetes-validations": rules}
    return definition(plural, type="object", properties={"spec": spec})


def thing(plural, name="a", **spec):
    return {
        "apiVersion": "tests.sluice/v1",
        "kind": plural.capitalize(),
        "metadata": {"name": name},
        "spec": {**OBJECT, **spec},
    }


def comparable(answer):
    """Status, and what was said, without what each server names in its own way."""
    status, said = answer
    if status < 300:
        return [status]
    message = said.get("message", "") if isinstance(said, dict) else said
    causes = sorted((c["field"], c["message"]) for c in said.get("details", {}).get("causes", []))
    return [status, causes or message]


def ask_both(*args):
    return [ask(server, *args) for server in (real, ours)]


def try_rule(rule):
    """Whether both take a definition with this rule, and the difference."""
    answers = ask_both("POST", DEFINITIONS + "?dryRun=All", with_rules("tries", [rule]))
    codes = [status for status, _ in answers]
    if codes[0] != codes[1]:
        return False, f"{rule}: {codes[0]} there, {codes[1]} here: {answers[codes[0] < 300][1].get('message')}"
    if codes[0] < 300:
        return True, None
    errors = [re.findall(r"ERROR: [^\n]*", said["message"])[:1] for _, said in answers]
    if all(errors) and errors[0] != errors[1] and "Syntax error" not in errors[0][0] + errors[1][0]:
        return False, f"{rule}: {errors[0]} there, {errors[1]} here"
    return False, None


def define(plural, thing):
    for server in real, ours:
        status, said = ask(server, "POST", DEFINITIONS, thing)
        assert status == 201, said
        until(lambda: ask(server, "GET", place(plural))[0] == 200, what=plural)


def test_rules():
    """each rule by itself as part of a definition; then all that both take, of one object"""
    lines = [line.replace('\\"\\"\\"', '"""') for line in RULES.splitlines() if ONLY in line]
    rules = [{"rule": line, "message": f"rule {n}"} for n, line in enumerate(lines)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        tried = list(pool.map(try_rule, rules))
    wrong = [text for _, text in tried if text]
    taken = [rule for rule, (ok, _) in zip(rules, tried) if ok]
    say(f"# {len(rules)} rules, {len(taken)} are taken by both")

    def compare(number):
        some = taken[number : number + PER_DEFINITION]
        plural = f"rules{number}s"
        define(plural, with_rules(plural, some))
        answers = [comparable(a) for a in ask_both("POST", place(plural) + "?dryRun=All", thing(plural))]
        found = [{text for _, text in a[1]} if len(a) > 1 else set() for a in answers]
        differ = []
        for side, there in (("there", found[0] - found[1]), ("here", found[1] - found[0])):
            for said in sorted(there):
                name = re.search(r"rule (\d+)", said)
                differ.append(f"{lines[int(name[1])] if name else ''}: only {side}: {said}")
        return differ

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for found in pool.map(compare, range(0, len(taken), PER_DEFINITION)):
            wrong += found
    assert not wrong, "\n".join(wrong)


def test_words():
    """messages, those that are computed, reasons, paths"""
    wrong = []

    def compare(number):
        rule, plural = WORDS[number], f"words{number}s"
        answers = ask_both("POST", DEFINITIONS, with_rules(plural, [rule]))
        if [a[0] for a in answers] != [201, 201]:
            said = [comparable(a) for a in answers]
            same = said[0][0] == said[1][0] and len(said[0][1]) == len(said[1][1])
            return not same and f"{rule}: {said[0]} there, {said[1]} here"
        for server in real, ours:
            until(lambda: ask(server, "GET", place(plural))[0] == 200, what=plural)
        said = [comparable(a) for a in ask_both("POST", place(plural), thing(plural))]
        return said[0] != said[1] and f"{rule}: {said[0]} there, {said[1]} here"

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        wrong = [text for text in pool.map(compare, range(len(WORDS))) if text]
    assert not wrong, "\n".join(wrong)


def test_updates():
    """rules that compare with what was there, and violations that were there before"""
    wrong = []
    fields = {**FIELDS, "i": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 100"}]}}
    for number, (rule, _) in enumerate(OLD_RULES):
        plural = f"updates{number}s"
        first = ask_both("POST", DEFINITIONS, with_rules(plural, [], fields))
        assert [a[0] for a in first] == [201, 201], first
        for server in real, ours:
            until(lambda: ask(server, "GET", place(plural))[0] == 200, what=plural)
        made = [comparable(a) for a in ask_both("POST", place(plural), thing(plural, i=50, free={}))]
        assert made == [[201], [201]], made
        patch = [
            {"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations"}
        ]
        patch[0]["value"] = [rule]
        path = f"{DEFINITIONS}/{plural}.tests.sluice"
        answers = [
            ask(s, "PATCH", path, patch, "application/json", "application/json-patch+json") for s in (real, ours)
        ]
        if answers[0][0] != answers[1][0]:
            wrong.append(f"{rule}: {answers[0][0]} there, {answers[1][0]} here: {answers[1][1].get('message')}")
            continue
        if answers[0][0] != 200:
            continue
        merge = "application/merge-patch+json"
        mark = {"spec": {"t": "marked"}}
        for server in real, ours:  # until the definition counts

            def counts():
                status, said = ask(server, "GET", path)
                return status == 200 and said["status"]["conditions"][1]["status"] == "True"

            until(counts, what=plural)
        import time

        time.sleep(1)
        changes = [
            mark,
            {"metadata": {"labels": {"a": "b"}}},
            {"spec": {"i": 60}},
            {"spec": {"i": 40}},
            {"spec": {"i": 5}},
        ]
        changes += [{"spec": {"i": 500}}, {"spec": {"s": "other"}}]
        for change in changes:
            said = [
                comparable(ask(s, "PATCH", place(plural) + "/a", change, "application/json", merge))
                for s in (real, ours)
            ]
            if said[0] != said[1]:
                wrong.append(f"{rule} {change}: {said[0]} there, {said[1]} here")
        said = [comparable(a) for a in ask_both("POST", place(plural), thing(plural, "b", i=7))]
        if said[0] != said[1]:
            wrong.append(f"{rule} made: {said[0]} there, {said[1]} here")
    assert not wrong, "\n".join(wrong)
