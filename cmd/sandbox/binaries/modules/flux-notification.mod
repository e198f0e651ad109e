module sandbox.invalid/flux-notification

go 1.26.0

require github.com/fluxcd/notification-controller v1.9.3
