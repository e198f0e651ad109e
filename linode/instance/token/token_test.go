package token

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/testdata/golden"
)

const uid = "5e3f9f6a-0000-4000-8000-000000000001"

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func claim() *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "general-x7k2p", UID: uid},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: &karpv1.NodeClassReference{Group: "karpenter.k8s.linode", Kind: "LinodeNodeClass", Name: "default"},
		},
	}
}

func registered() *karpv1.NodeClaim {
	nc := claim()
	nc.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
	return nc
}

func going() *karpv1.NodeClaim {
	nc := claim()
	nc.DeletionTimestamp, nc.Finalizers = new(metav1.NewTime(start)), []string{"karpenter.sh/termination"}
	return nc
}

// foreign is a Secret of another owner under one of the claim's names.
func foreign(n int) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: prefix + IDs(uid)[n], Namespace: namespace},
		Type:       corev1.SecretTypeBootstrapToken, Data: map[string][]byte{"token-secret": []byte("0123456789abcdef")},
	}
}

// cluster is an API server with some objects, whose calls can be tampered with.
func cluster(tamper interceptor.Funcs, objects ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithInterceptorFuncs(tamper).Build()
}

// ensured fails the test if there is no token.
func ensured(t *testing.T, c client.Client, now time.Time) string {
	t.Helper()
	token, err := New(c, c).Ensure(t.Context(), claim(), now)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// secrets are all Secrets of the cluster, by name.
func secrets(t *testing.T, c client.Client) map[string]corev1.Secret {
	t.Helper()
	var list corev1.SecretList
	if err := c.List(context.Background(), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]corev1.Secret{}
	for _, s := range list.Items {
		all[s.Name] = s
	}
	return all
}

func TestSecretIsAValidBootstrapToken(t *testing.T) {
	c := cluster(interceptor.Funcs{})
	id, secret, _ := strings.Cut(ensured(t, c, start), ".")
	s := secrets(t, c)[prefix+id]
	if string(s.Data["token-secret"]) != secret || !secretForm.MatchString(secret) {
		t.Errorf("the secret is %q, the token says %q", s.Data["token-secret"], secret)
	}
	s.StringData = map[string]string{}
	for key, value := range s.Data {
		s.StringData[key] = strings.ReplaceAll(string(value), secret, "(secret)")
	}
	s.Data, s.ResourceVersion = nil, ""
	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/secret.yaml", text)
}

func TestTokenStaysAndIsRenewedInTime(t *testing.T) {
	var wrote []string
	c := cluster(interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			wrote = append(wrote, o.GetName())
			return c.Update(ctx, o, opts...)
		},
	})
	first := ensured(t, c, start)
	for _, later := range []struct {
		after  time.Duration
		writes int
		ends   time.Duration
	}{
		{10 * time.Minute, 0, 30 * time.Minute},
		{10*time.Minute + time.Second, 1, 40*time.Minute + time.Second},
		{20 * time.Minute, 0, 40*time.Minute + time.Second},
		{time.Hour, 1, 90 * time.Minute}, // it has expired and was not deleted
	} {
		wrote = nil
		if token := ensured(t, c, start.Add(later.after)); token != first || len(wrote) != later.writes {
			t.Errorf("after %s: token %s, before %s; %d writes", later.after, token, first, len(wrote))
		}
		ends := string(secrets(t, c)[prefix+first[:6]].Data["expiration"])
		if ends != start.Add(later.ends).Format(time.RFC3339) {
			t.Errorf("after %s: it ends at %s", later.after, ends)
		}
	}
}

func TestForeignSecretsAreKept(t *testing.T) {
	other := claim()
	other.UID = "another"
	for n := range names + 1 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var taken []client.Object
			for i := range n {
				s := foreign(i)
				switch i {
				case 1: // of another claim
					s.Labels = map[string]string{Label: "another"}
				case 2: // with our label, and no bootstrap token
					s.Labels, s.Type = map[string]string{Label: uid}, corev1.SecretTypeOpaque
				}
				taken = append(taken, s)
			}
			c := cluster(interceptor.Funcs{}, taken...)
			before := secrets(t, c)
			token, err := New(c, c).Ensure(t.Context(), claim(), start)
			switch {
			case n == names:
				if err == nil || !strings.Contains(err.Error(), "NodeClaim general-x7k2p: other Secrets have all names") {
					t.Errorf("token %s, %v", token, err)
				}
			case err != nil || token[:6] != IDs(uid)[n]:
				t.Errorf("token %s, %v", token, err)
			}
			if err := New(c, c).Revoke(t.Context(), uid); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(before, secrets(t, c)); d != "" {
				t.Errorf("-before +after\n%s", d)
			}
		})
	}
}

// TestSecretUnderALaterNameStays: the owner of the first name has deleted it.
func TestSecretUnderALaterNameStays(t *testing.T) {
	had := foreign(0)
	c := cluster(interceptor.Funcs{}, had)
	token := ensured(t, c, start)
	if err := c.Delete(t.Context(), had); err != nil {
		t.Fatal(err)
	}
	if again := ensured(t, c, start); again != token {
		t.Errorf("first %s, then %s", token, again)
	}
}

func TestSecretWithoutATokenIsRecreated(t *testing.T) {
	for name, spoil := range map[string]func(*corev1.Secret){
		"no secret":   func(s *corev1.Secret) { delete(s.Data, "token-secret") },
		"short":       func(s *corev1.Secret) { s.Data["token-secret"] = []byte("abc") },
		"other signs": func(s *corev1.Secret) { s.Data["token-secret"] = []byte("ABCDEFGHIJKLMNOP") },
		"other id":    func(s *corev1.Secret) { s.Data["token-id"] = []byte("zzzzzz") },
		"no data":     func(s *corev1.Secret) { s.Data = nil },
	} {
		t.Run(name, func(t *testing.T) {
			id := IDs(uid)[0]
			s := wantedSecret(claim(), id, "0123456789abcdef", start)
			spoil(s)
			c := cluster(interceptor.Funcs{}, s)
			token := ensured(t, c, start)
			if token == id+".0123456789abcdef" || ensured(t, c, start) != token || len(secrets(t, c)) != 1 {
				t.Errorf("token %s, Secrets %v", token, secrets(t, c))
			}
		})
	}
}

func TestSecretIsCorrected(t *testing.T) {
	for _, key := range slices.Sorted(maps.Keys(wantedSecret(claim(), "", "", start).Data)) {
		if strings.HasPrefix(key, "token-") {
			continue
		}
		for _, value := range []string{"", "nonsense", "2126-11-01T12:00:00Z"} {
			s := wantedSecret(claim(), IDs(uid)[0], "0123456789abcdef", start)
			s.Data[key] = []byte(value)
			c := cluster(interceptor.Funcs{}, s)
			ensured(t, c, start)
			want := wantedSecret(claim(), IDs(uid)[0], "0123456789abcdef", start).Data
			if d := cmp.Diff(want, secrets(t, c)[s.Name].Data); d != "" {
				t.Errorf("%s was %q: -want +got\n%s", key, value, d)
			}
		}
	}
}

// TestTwoLeadersHaveOneToken lets a second one do all that it does right before each call of
// the first that writes.
func TestTwoLeadersHaveOneToken(t *testing.T) {
	spoilt := wantedSecret(claim(), IDs(uid)[0], "abc", start)
	old := wantedSecret(claim(), IDs(uid)[0], "0123456789abcdef", start.Add(-15*time.Minute))
	for name, before := range map[string][]client.Object{
		"nothing": nil, "a Secret without a token": {spoilt}, "an old Secret": {old},
	} {
		t.Run(name, func(t *testing.T) {
			var second string
			now := start
			between := func(c client.WithWatch) {
				if second == "" {
					now = now.Add(time.Second)
					second = ensured(t, c, now)
				}
			}
			c := cluster(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					between(c)
					return c.Create(ctx, o, opts...)
				},
				Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
					between(c)
					return c.Update(ctx, o, opts...)
				},
				Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					between(c)
					return c.Delete(ctx, o, opts...)
				},
			}, before...)
			if first := ensured(t, c, start); first != second || len(secrets(t, c)) != 1 {
				t.Errorf("the first has %s, the second %s", first, second)
			}
		})
	}
}

func TestConcurrentRequestsGetOneToken(t *testing.T) {
	c := cluster(interceptor.Funcs{})
	tokens := make([]string, 16)
	var wg sync.WaitGroup
	for i := range tokens {
		wg.Go(func() { tokens[i], _ = New(c, c).Ensure(t.Context(), claim(), start) })
	}
	wg.Wait()
	slices.Sort(tokens)
	if all := slices.Compact(tokens); len(all) != 1 || all[0] == "" {
		t.Errorf("tokens %q", all)
	}
}

// TestEndlessConflictsAreAnError: another client may keep writing a Secret.
func TestEndlessConflictsAreAnError(t *testing.T) {
	calls := 0
	c := cluster(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			calls++
			return apierrors.NewAlreadyExists(corev1.Resource("secrets"), o.GetName())
		},
	})
	if _, err := New(c, c).Ensure(t.Context(), claim(), start); !apierrors.IsAlreadyExists(err) || calls != 5 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestRegisteredClaimsGetNoToken(t *testing.T) {
	c := cluster(interceptor.Funcs{})
	for _, nc := range []*karpv1.NodeClaim{registered(), going()} {
		if token, err := New(c, c).Ensure(t.Context(), nc, start); err == nil || len(secrets(t, c)) > 0 {
			t.Errorf("token %s", token)
		}
	}
}

func TestMissingRightIsNamed(t *testing.T) {
	refused := apierrors.NewForbidden(corev1.Resource("secrets"), "x", errors.New("no"))
	const role = "a Role there must let lkeplan get, list, create, update and delete Secrets"
	refusing := map[string]interceptor.Funcs{
		"get": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return refused
		}},
		"create": {Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return refused
		}},
		"list": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return refused
		}},
	}
	for verb, tamper := range refusing {
		c := cluster(tamper)
		_, err := New(c, c).Ensure(t.Context(), claim(), start)
		if verb == "list" {
			_, err = New(c, c).Sweep(t.Context(), nil)
		}
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), verb+" Secret") ||
			!strings.Contains(err.Error(), role) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func TestRevokedTokenIsDeleted(t *testing.T) {
	c := cluster(interceptor.Funcs{})
	ensured(t, c, start)
	for range 2 {
		if err := New(c, c).Revoke(t.Context(), uid); err != nil || len(secrets(t, c)) > 0 {
			t.Fatalf("%v, left %v", err, secrets(t, c))
		}
	}
}

func TestIDsAreThoseOfTokens(t *testing.T) {
	seen := map[string]bool{}
	for i := range 1000 {
		for _, id := range IDs(fmt.Sprint(i)) {
			if len(id) != 6 || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz") != "" || seen[id] {
				t.Fatalf("%q", id)
			}
			seen[id] = true
		}
	}
	if d := cmp.Diff(IDs(uid), IDs(string(types.UID(uid)))); d != "" {
		t.Error(d)
	}
}
