package gitops

import (
	archive "archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/tar"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// readable are the extensions of files that a configuration can read. Others of
// a repository are neither unpacked nor kept.
var readable = []string{".hcl", ".json", ".yaml", ".yml", ".txt", ".tpl", ".tftpl", ".csv", ".toml"}

// wanted reports whether a file of a source is of any use to a configuration.
func wanted(name string) bool { return slices.Contains(readable, path.Ext(name)) }

// The bounds of what is unpacked, in bytes, and kept in a ConfigMap, which holds
// 1 MiB.
const (
	maxUnpacked = 20 << 20
	maxFile     = 256 << 10
	maxRecord   = 900 << 10
)

// maxEntries bounds how many files and directories a source may have. Empty ones
// cost nothing in an archive, and a few trees that hold each other many times
// make a commit of billions.
const maxEntries = 100_000

// tally is what was found of a source.
type tally struct {
	entries int
	bytes   int64
}

// add counts an entry, and the directories that it takes to keep it.
func (t *tally) add(name string, kept bool) error {
	t.entries++
	if kept {
		t.entries += strings.Count(name, "/")
	}
	if t.entries > maxEntries {
		return fmt.Errorf("it has more than %d files and directories; have the source leave out what is not needed", maxEntries)
	}
	return nil
}

// ConfigMaps keeps the source of what is in force in a ConfigMap beside each
// NodePlan, which goes with it.
type ConfigMaps struct {
	Client client.Client
	Reader client.Reader // without a cache: there is no need to hold all ConfigMaps
}

const (
	recordFiles = "source.tar.gz"
	recordPath  = "path"
)

func recordName(np *lkeplanv1alpha1.NodePlan) string {
	return kube.LabelValue("lkeplan", np.Name, "in-force")
}

// Load implements Records.
func (c ConfigMaps) Load(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string) (string, bool, error) {
	var record corev1.ConfigMap
	err := c.Reader.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: recordName(np)}, &record)
	if apierrors.IsNotFound(err) || (err == nil && record.BinaryData[recordFiles] == nil) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	if err := unpack(bytes.NewReader(record.BinaryData[recordFiles]), dir); err != nil {
		return "", false, fmt.Errorf("read ConfigMap %s/%s: %w", np.Namespace, record.Name, err)
	}
	return record.Data[recordPath], true, nil
}

// Store implements Records. Files that are too many to be kept leave a record
// without any.
func (c ConfigMaps) Store(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string) error {
	files, err := pack(dir)
	if err != nil {
		return fmt.Errorf("pack the source: %w", err)
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: np.Namespace, Name: recordName(np)}}
	_, err = controllerutil.CreateOrPatch(ctx, uncached{c.Client, c.Reader}, record, func() error {
		record.Data = map[string]string{recordPath: np.Spec.Path}
		record.BinaryData = nil
		if len(files) <= maxRecord {
			record.BinaryData = map[string][]byte{recordFiles: files}
		}
		return controllerutil.SetOwnerReference(np, record, c.Client.Scheme())
	})
	return err
}

// uncached is a client that reads past its cache.
type uncached struct {
	client.Client
	reader client.Reader
}

// Get implements client.Reader.
func (u uncached) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return u.reader.Get(ctx, key, obj, opts...)
}

// useless reports whether an entry of an archive or directory is left out. A hard
// link says of itself that it is a regular file.
func useless(name string, info fs.FileInfo) bool {
	return isLink(info) || !info.IsDir() && (!wanted(name) || info.Size() > maxFile)
}

func isLink(info fs.FileInfo) bool {
	header, ok := info.Sys().(*archive.Header)
	return info.Mode()&fs.ModeSymlink != 0 || ok && header.Typeflag == archive.TypeLink
}

// useful are the hashes of the useful files of a directory, by their paths.
func useful(dir string) (map[string][sha256.Size]byte, error) {
	hashes := map[string][sha256.Size]byte{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil || useless(name, info) {
			return err
		}
		text, err := fs.ReadFile(root, name)
		hashes[name] = sha256.Sum256(text)
		return err
	})
	return hashes, err
}

// unpack puts the useful files of an archive into a directory. A path that leads
// out of it is an error, and so is more than the bounds; links are left out, but
// for those that configuration would be missed by.
func unpack(from io.Reader, dir string) error {
	var missed, tooMany error
	var found tally
	filter := func(name string, info fs.FileInfo) bool {
		if isLink(info) {
			missed = cmp.Or(missed, missing(name))
		}
		left := useless(name, info)
		tooMany = cmp.Or(tooMany, found.add(name, !left))
		return left || tooMany != nil
	}
	if err := tar.Untar(until{from, &tooMany}, dir, tar.WithMaxUntarSize(maxUnpacked), tar.WithSkipSymlinks(), tar.WithFilter(filter)); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	return cmp.Or(tooMany, missed)
}

// until is what can be read until there is an error.
type until struct {
	io.Reader
	err *error
}

// Read implements io.Reader.
func (u until) Read(p []byte) (int, error) {
	if *u.err != nil {
		return 0, *u.err
	}
	return u.Reader.Read(p)
}

// missing is the error about a link in the place of configuration. Without what
// it leads to pools would be gone that somebody sees in the repository.
func missing(name string) error {
	if !strings.HasSuffix(name, ".lke.hcl") && !strings.HasSuffix(name, ".lke.json") {
		return nil
	}
	return fmt.Errorf("%s is a link, and links are not followed: put a file there", name)
}

// pack makes an archive of the useful files of a directory.
func pack(dir string) ([]byte, error) {
	var b bytes.Buffer
	_, err := tar.Tar(dir, &b, tar.WithFilter(useless))
	return b.Bytes(), err
}
