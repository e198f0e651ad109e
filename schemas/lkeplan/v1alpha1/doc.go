// Package v1alpha1 holds the Go types of lkeplan's own API, group
// lkeplan.dev.
//
// It depends on neither the Linode API, HCL nor a client.
//
// +kubebuilder:object:generate=true
// +groupName=lkeplan.dev
package v1alpha1
