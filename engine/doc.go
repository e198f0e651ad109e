// Package engine holds what the commands drive, a package for each thing that is
// done: compile, lint, compare, plan, apply, migrate, inspect, report, source, gitops and
// controller. It is where HCL, Kubernetes and Linode meet.
//
// There is no code here.
package engine
