// Package v1alpha1 holds the Go types of lkeplan's own API, group
// lkeplan.dev.
//
// The package knows nothing of the Linode API, of HCL or of any client.
//
// +kubebuilder:object:generate=true
// +groupName=lkeplan.dev
package v1alpha1
