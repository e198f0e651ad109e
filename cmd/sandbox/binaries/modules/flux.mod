module sandbox.invalid/flux

go 1.26.0

// As in the go.mod of source-controller; a replace counts in the main module only.
replace github.com/opencontainers/go-digest => github.com/opencontainers/go-digest v1.0.1-0.20220411205349-bde1400a84be

require (
	github.com/fluxcd/pkg/artifact v0.20.0
	github.com/fluxcd/pkg/masktoken v0.9.0
	github.com/fluxcd/source-controller v1.9.5
	github.com/fluxcd/source-controller/api v1.9.5
)
