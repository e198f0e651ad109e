// Package spec is what a machine is created from, as the program that starts it reads it.
package spec

// Machine is a machine in namespaces.
type Machine struct {
	Image   string // directory of the root file system, which is not changed
	Dir     string // of what the machine writes: upper, work, root, containerd and kubelet
	Console string // a terminal
	Cgroups []Cgroup

	// Faults of the machine.
	SwapMiB      int            // of swap that the kernel says there is; none is used
	NoForwarding bool           // nothing of the kernel's network settings can be changed
	Small        map[string]int // KiB of file systems, by where they are
}

// Cgroup is a hierarchy of cgroups, with the part of it that is the machine's.
type Cgroup struct {
	Name        string // of the directory where it is mounted
	Controllers string // options of the mount, such as cpu,cpuacct or name=systemd; "" in cgroup v2
	Dir         string // the machine's, on the host
}
