package nodeclaim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestNodeClaimReportsUndeletedMachine, in a condition that is written if it changes. Nothing else of its status changes.
func TestNodeClaimReportsUndeletedMachine(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	other := metav1.Condition{Type: "Drained", Status: "True", Reason: "Drained", LastTransitionTime: at}
	is := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: ConditionMachineDeleted, Status: "False", Reason: reason, Message: message, LastTransitionTime: at}
	}
	set := func(c ...metav1.Condition) (all []metav1.Condition) { return c }
	gone := apierrors.NewNotFound(schema.GroupResource{}, "a")
	conflict := apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("changed"))
	for name, c := range map[string]struct {
		stays     bool
		was, want []metav1.Condition
		message   string
		refused   error
		writes    int
		fails     bool
	}{
		"the first time":      {was: set(other), want: set(other, is("LKELocked", "locked")), message: "locked", writes: 1},
		"without a condition": {want: set(is("LKELocked", "locked")), message: "locked", writes: 1},
		"the same again":      {was: set(is("LKELocked", "locked")), want: set(is("LKELocked", "locked")), message: "locked"},
		"another reason": {was: set(is("LKEDeleteFailed", "busy"), other), want: set(is("LKELocked", "locked"), other),
			message: "locked", writes: 1},
		"it does not go":  {stays: true, was: set(other), want: set(other), message: "locked"},
		"it is gone":      {want: nil, message: "locked", refused: gone, writes: 1},
		"it was changed":  {want: nil, message: "locked", refused: conflict, writes: 1, fails: true},
		"a large message": {want: set(is("LKELocked", strings.Repeat("x", 996)+" ...")), message: strings.Repeat("x", 9000), writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", Finalizers: []string{"x/y"}}}
			if !c.stays {
				nc.DeletionTimestamp = &at
			}
			for _, condition := range c.was {
				nc.Status.Conditions = append(nc.Status.Conditions, status.Condition(condition))
			}
			writes := 0
			api := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nc).WithStatusSubresource(nc).
				WithIndex(nc, IndexUID, UIDs).WithInterceptorFuncs(interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, cl client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
					if writes++; c.refused != nil {
						return c.refused
					}
					return cl.SubResource(sub).Patch(ctx, o, p, opts...)
				},
			}).Build()
			recorder := events.NewFakeRecorder(2)
			err := Writer{api, recorder}.NotDeleted(t.Context(), "a", "LKELocked", c.message)
			if (err != nil) != c.fails || writes != c.writes {
				t.Errorf("%v, %d writes", err, writes)
			}
			if event := <-recorder.Events; !strings.HasPrefix(event, "Warning LKELocked "+c.message[:6]) {
				t.Errorf("the event is %s", event)
			}
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(nc), nc); err != nil {
				t.Fatal(err)
			}
			var got []metav1.Condition
			for _, condition := range nc.Status.Conditions {
				condition.LastTransitionTime = at
				got = append(got, metav1.Condition(condition))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
	recorder := events.NewFakeRecorder(1)
	api := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithIndex(&karpv1.NodeClaim{}, IndexUID, UIDs).Build()
	if err := (Writer{api, recorder}).NotDeleted(t.Context(), "gone", "LKELocked", "locked"); err != nil || len(recorder.Events) > 0 {
		t.Errorf("of no claim: %v, %d events", err, len(recorder.Events))
	}
}
