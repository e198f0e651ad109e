package simulate

// RunFrom is Run, with pack from so many pods on.
var RunFrom = run
