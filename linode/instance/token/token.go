// Package token creates the bootstrap tokens with which machines join, and approves the certificates that they
// request with them. Each NodeClaim has a token, a Secret in kube-system, which expires after half an hour and is
// deleted when the claim's Node has registered or the claim is deleted. The package reads Secrets live and one by
// one, by names derived from a claim's UID, and never watches them. It changes only Secrets of NodeClaims.
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Label is the label of the Secret of a NodeClaim. Its value is the UID of the NodeClaim.
const Label = "lkeplan.dev/nodeclaim"

// Group is the group of machines that use such a token. It may request certificates, and only the Approver approves
// them. It is not kubeadm's group for its tokens, because that group gets the certificate of any Node.
const Group = "system:bootstrappers:lkeplan"

const (
	namespace = metav1.NamespaceSystem
	prefix    = "bootstrap-token-"
	// lasts is how long a token is valid. A machine boots in two minutes.
	lasts = 30 * time.Minute
	// renewed is the remaining time at which a token that is requested again is renewed.
	renewed = 20 * time.Minute
	// names is how many names a claim's Secret may have, in case another Secret has the first one. The chance of
	// that is one in two billion.
	names = 3
)

// Tokens creates and revokes tokens.
type Tokens struct {
	reader client.Reader
	writer client.Writer
}

// New returns the Tokens of a cluster. reader must not use a cache, because a Secret that a cache does not show yet
// would seem to be missing.
func New(reader client.Reader, writer client.Writer) *Tokens { return &Tokens{reader, writer} }

// Ensure returns the token of a NodeClaim, <id>.<secret>, which is valid for at least 20 minutes. Every call
// returns the same token as long as its Secret exists. A claim that is being deleted or whose Node has registered
// gets none.
func (t *Tokens) Ensure(ctx context.Context, claim *karpv1.NodeClaim, now time.Time) (string, error) {
	if Spent(claim) {
		return "", fmt.Errorf("token of NodeClaim %s: it needs none, because it is being deleted or has "+
			"registered", claim.Name)
	}
	const tries = 5 // each ends with a conflicting write
	var err error
	for range tries {
		var token string
		if token, err = t.ensureOnce(ctx, claim, now); err == nil {
			return token, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			break
		}
	}
	return "", fmt.Errorf("token of NodeClaim %s: %w", claim.Name, err)
}

// ensureOnce checks all names before it creates a Secret: the claim may have a Secret with a later name, from a
// time when another Secret had the first name.
func (t *Tokens) ensureOnce(ctx context.Context, claim *karpv1.NodeClaim, now time.Time) (string, error) {
	free := ""
	for _, id := range IDs(string(claim.UID)) {
		s, err := t.get(ctx, id)
		switch {
		case apierrors.IsNotFound(err):
			if free == "" {
				free = id
			}
		case err != nil:
			return "", err
		case ownerUID(s) == string(claim.UID):
			return t.keep(ctx, claim, id, s, now)
		}
	}
	if free == "" {
		return "", errors.New("other Secrets have all names that its Secret could have")
	}
	return t.create(ctx, claim, free, now)
}

// keep returns the token of a Secret, and renews it in time. A Secret without a token is deleted, if it has not
// changed, and created again, so that two processes that do this at the same time both get the same token.
func (t *Tokens) keep(
	ctx context.Context, claim *karpv1.NodeClaim, id string, s *corev1.Secret, now time.Time,
) (string, error) {
	if !s.DeletionTimestamp.IsZero() {
		return "", fmt.Errorf("its Secret %s is being deleted", s.Name)
	}
	secret := string(s.Data["token-secret"])
	if !secretForm.MatchString(secret) || string(s.Data["token-id"]) != id {
		if err := t.delete(ctx, s); err != nil {
			return "", err
		}
		return t.create(ctx, claim, id, now)
	}
	want := wantedSecret(claim, id, secret, now)
	if isValid(s, want, now) {
		return id + "." + secret, nil
	}
	s.Data, s.OwnerReferences = want.Data, want.OwnerReferences
	if err := t.writer.Update(ctx, s); err != nil { // it fails if the Secret has changed since
		return "", explainError("update", "Secret "+s.Name, err)
	}
	return id + "." + secret, nil
}

// isValid reports whether a Secret has all wanted fields, and stays valid for a while.
func isValid(s, want *corev1.Secret, now time.Time) bool {
	for key, value := range want.Data {
		if key != "expiration" && string(s.Data[key]) != string(value) {
			return false
		}
	}
	ends, err := time.Parse(time.RFC3339, string(s.Data["expiration"]))
	return err == nil && ends.Sub(now) >= renewed && ends.Sub(now) <= lasts+time.Minute
}

func (t *Tokens) create(ctx context.Context, claim *karpv1.NodeClaim, id string, now time.Time) (string, error) {
	secret := strings.ToLower(rand.Text()[:16])
	s := wantedSecret(claim, id, secret, now)
	if err := t.writer.Create(ctx, s); err != nil {
		return "", explainError("create", "Secret "+s.Name, err)
	}
	return id + "." + secret, nil
}

var secretForm = regexp.MustCompile(`^[a-z0-9]{16}$`)

// wantedSecret returns the Secret of a claim. Kubernetes deletes it after its claim, and when it has expired.
func wantedSecret(claim *karpv1.NodeClaim, id, secret string, now time.Time) *corev1.Secret {
	data := map[string][]byte{}
	for key, value := range map[string]string{
		"token-id": id, "token-secret": secret,
		"expiration":                     now.Add(lasts).UTC().Format(time.RFC3339),
		"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
		"auth-extra-groups": Group,
		"description":       "lkeplan: for the machine of NodeClaim " + claim.Name,
	} {
		data[key] = []byte(value)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: prefix + id, Namespace: namespace, Labels: map[string]string{Label: string(claim.UID)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: apis.Group + "/v1", Kind: "NodeClaim", Name: claim.Name, UID: claim.UID,
			}},
		},
		Type: corev1.SecretTypeBootstrapToken, Data: data,
	}
}

// Revoke deletes the Secret of a claim, if it has one.
func (t *Tokens) Revoke(ctx context.Context, uid string) error {
	var failed []error
	for _, id := range IDs(uid) {
		s, err := t.get(ctx, id)
		if err == nil && ownerUID(s) == uid {
			err = t.delete(ctx, s)
		}
		if client.IgnoreNotFound(err) != nil {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("revoke the token of NodeClaim %s: %w", uid, err)
	}
	return nil
}

// Sweep deletes the Secrets of claims that do not exist, and returns their names. It calls living for the UIDs of
// claims only if there are Secrets, and after it has listed them, because a claim is older than its Secret.
func (t *Tokens) Sweep(
	ctx context.Context, living func(context.Context) (map[string]bool, error),
) (deleted []string, err error) {
	list := &metav1.PartialObjectMetadataList{} // without the tokens, which are not needed
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := t.reader.List(ctx, list, client.InNamespace(namespace), client.HasLabels{Label}); err != nil {
		return nil, explainError("list", "Secrets", err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	alive, err := living(ctx)
	if err != nil {
		return nil, fmt.Errorf("find NodeClaims that still need a token: %w", err)
	}
	var failed []error
	for i := range list.Items {
		s := &list.Items[i]
		uid := s.Labels[Label]
		if alive[uid] || !mayHaveName(s.Name, uid) {
			continue
		}
		if err := t.delete(ctx, s); client.IgnoreNotFound(err) != nil {
			failed = append(failed, err)
			continue
		}
		deleted = append(deleted, s.Name)
	}
	return deleted, errors.Join(failed...)
}

func (t *Tokens) get(ctx context.Context, id string) (*corev1.Secret, error) {
	var s corev1.Secret
	err := t.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: prefix + id}, &s)
	return &s, explainError("get", "Secret "+prefix+id, err)
}

// delete deletes a Secret if it has not been replaced since it was read.
func (t *Tokens) delete(ctx context.Context, s client.Object) error {
	uid, version := s.GetUID(), s.GetResourceVersion()
	seen := client.Preconditions{UID: &uid, ResourceVersion: &version}
	gone := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.GetName()}}
	return explainError("delete", "Secret "+s.GetName(), t.writer.Delete(ctx, gone, seen))
}

// explainError adds to an error the action, the Secret and the missing right, if any.
func explainError(verb, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s %s in %s: %w (a Role there must let lkeplan get, list, create, update and delete Secrets)",
			verb, name, namespace, err)
	}
	return fmt.Errorf("%s %s in %s: %w", verb, name, namespace, err)
}

// ownerUID returns the UID of the claim that a Secret belongs to; "" if it is not one of ours.
func ownerUID(s *corev1.Secret) string {
	if s.Type != corev1.SecretTypeBootstrapToken {
		return ""
	}
	return s.Labels[Label]
}

// mayHaveName reports whether the Secret of a claim may have a name.
func mayHaveName(name, uid string) bool {
	id, is := strings.CutPrefix(name, prefix)
	return is && slices.Contains(IDs(uid), id)
}

// IsOf reports whether a user name is the one that Kubernetes gives to the token of a claim.
func IsOf(account, uid string) bool { return isAccount(account, IDs(uid)) }

func isAccount(account string, ids []string) bool {
	id, is := strings.CutPrefix(account, "system:bootstrap:")
	return is && slices.Contains(ids, id)
}

// Spent reports whether a claim no longer needs a token: it is being deleted, or its Node has registered.
func Spent(claim *karpv1.NodeClaim) bool {
	return !claim.DeletionTimestamp.IsZero() ||
		claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered).IsTrue()
}

// IDs returns the ids that the token of a claim may have, in the order in which they are tried.
func IDs(uid string) (all []string) {
	for n := range names {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", uid, n))
		digits := []byte(new(big.Int).SetBytes(sum[:]).Text(36))
		slices.Reverse(digits)
		all = append(all, string(digits[:6]))
	}
	return all
}
