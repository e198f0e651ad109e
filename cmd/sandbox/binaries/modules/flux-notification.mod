module sandbox.invalid/flux-notification

go 1.26.0

// As in the go.mod of notification-controller; a replace counts in the main module only.
replace gopkg.in/yaml.v3 => gopkg.in/yaml.v3 v3.0.1

require (
	github.com/fluxcd/notification-controller v1.9.3
	github.com/fluxcd/notification-controller/api v1.9.3
)
