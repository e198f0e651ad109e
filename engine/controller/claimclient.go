package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// claimClient makes NodeClaims with their finalizer on. Karpenter would put it on
// by a patch, which must come before anything is launched. In that moment another
// of its controllers adds the first conditions. Whichever is second is refused,
// and the first patch is tried again only after a second, then two, then four
// (karpenter v1.14.1, pkg/controllers/nodeclaim/lifecycle and
// pkg/controllers/nodeclaim/disruption).
type claimClient struct{ client.Client }

// Create implements client.Client.
func (c claimClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if nc, ok := o.(*karpv1.NodeClaim); ok {
		controllerutil.AddFinalizer(nc, karpv1.TerminationFinalizer)
	}
	return c.Client.Create(ctx, o, opts...)
}
