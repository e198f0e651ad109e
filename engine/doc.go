// Package engine is what the commands drive: it compiles configuration and
// checks it against the definitions, applies it to a cluster, and runs the
// controller with Karpenter's core and the Linode provider in it.
//
// It is where HCL, Kubernetes and Linode meet; it prints nothing and knows no
// flags.
package engine
