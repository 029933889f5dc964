//go:build tools

// Package tools names the program, so that go.mod keeps what it needs.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
