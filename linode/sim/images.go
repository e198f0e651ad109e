package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/linode/linodego"
)

// Image is an image from which a disk is created.
type Image struct {
	ID           string                 `json:"id"`
	Label        string                 `json:"label"`
	Description  string                 `json:"description"`
	CreatedBy    string                 `json:"created_by"`
	Type         string                 `json:"type"` // manual, automatic
	Vendor       *string                `json:"vendor"`
	Status       string                 `json:"status"` // creating, pending_upload, available
	Size         int                    `json:"size"`   // MB
	TotalSize    int                    `json:"total_size"`
	IsPublic     bool                   `json:"is_public"`
	Deprecated   bool                   `json:"deprecated"`
	Capabilities []string               `json:"capabilities"`
	Regions      []linodego.ImageRegion `json:"regions"` // empty: everywhere
	Tags         []string               `json:"tags"`
	Created      string                 `json:"created"`
	Updated      string                 `json:"updated"`
	Expiry       *string                `json:"expiry"`
	EOL          *string                `json:"eol"`
}

// firstCreated is the default creation time of an image.
const firstCreated = "2018-01-02T03:04:05"

// available is the status of images that can be used.
const available = "available"

// CloudInit is the capability of images that read user data.
const CloudInit = "cloud-init"

// publicImages returns some of the images that all accounts have. Their ids, labels and sizes were recorded, or
// belong to a later version of a recorded release. According to Linode's documentation, Slackware has no cloud-init
// and the others have it.
func publicImages() []Image {
	image := func(id, label, vendor string, size int, deprecated bool, capabilities ...string) Image {
		return Image{
			ID: "linode/" + id, Label: label, CreatedBy: "linode", Type: "manual", Vendor: &vendor, Status: available,
			Size: size, TotalSize: size, IsPublic: true, Deprecated: deprecated,
			Capabilities: append([]string{}, capabilities...),
			Regions:      []linodego.ImageRegion{}, Tags: []string{}, Created: firstCreated, Updated: firstCreated,
		}
	}
	return []Image{
		image("debian11", "Debian 11", "Debian", 1300, false, CloudInit),
		image("debian12", "Debian 12", "Debian", 1500, false, CloudInit),
		image("ubuntu22.04", "Ubuntu 22.04 LTS", "Ubuntu", 3500, false, CloudInit),
		image("ubuntu24.04", "Ubuntu 24.04 LTS", "Ubuntu", 3500, false, CloudInit),
		image("slackware15.0", "Slackware 15.0", "Slackware", 10000, false),
		image("centos8", "CentOS 8", "CentOS", 2300, true),
	}
}

// fill completes a private image. By default it is ready and has cloud-init; [] means no capabilities.
func (i *Image) fill() {
	if i.Capabilities == nil {
		i.Capabilities = []string{CloudInit}
	}
	i.Status, i.Type = cmp.Or(i.Status, available), cmp.Or(i.Type, "manual")
	i.Created, i.Updated = cmp.Or(i.Created, firstCreated), cmp.Or(i.Updated, firstCreated)
	i.Regions, i.Tags = append([]linodego.ImageRegion{}, i.Regions...), append([]string{}, i.Tags...)
	i.TotalSize = i.Size * max(1, len(i.Regions))
}

// Has reports whether an image has a capability.
func (i *Image) Has(capability string) bool { return slices.Contains(i.Capabilities, capability) }

// Usable returns why nothing can be created from the image in a region; "" if it can. The texts are ours.
//
// Unverified: that a private image is refused where it has no replica.
func (i *Image) Usable(region string) string {
	if i.Status != available {
		return fmt.Sprintf("Image %s is not available: its status is %s", i.ID, i.Status)
	}
	if len(i.Regions) == 0 || slices.Contains(i.Regions, linodego.ImageRegion{Region: region, Status: available}) {
		return ""
	}
	return fmt.Sprintf("Image %s is not available in region %s", i.ID, region)
}
