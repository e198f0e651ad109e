package simulate

// RunFrom is Run, with package packing from so many pods on.
var RunFrom = run
