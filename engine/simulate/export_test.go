package simulate

// RunFrom is Run, with pack from so many pods on.
var RunFrom = run

// Anew has nothing remembered from one step of Karpenter to the next.
func (in Input) Anew() Input {
	in.anew = true
	return in
}
