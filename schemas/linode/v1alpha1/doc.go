// Package v1alpha1 holds the Go types of the LinodeNodeClass API, group
// karpenter.k8s.linode.
//
// The fields, their JSON names and their validation are those of the
// LinodeNodeClass that karpenter-provider-linode serves, so that manifests
// written for it apply unchanged. The API server serves the type as v1alpha1
// and as v1 with one schema; the Go code knows it as v1alpha1 only.
// The package does not depend on the Linode API, HCL or any client.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.linode
package v1alpha1
