package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	cdi "tags.cncf.io/container-device-interface/specs-go"
)

// cdiVersion is the first one in which a device's name may begin with a digit, as a UID may.
const cdiVersion = "0.5.0"

// held is one device of a prepared claim.
type held struct {
	Request, Pool, Device, CDIDevice string
	Admin                            bool
}

// record is all there is to know of a prepared claim.
type record struct {
	Namespace, Name string
	Held            []held
	Spec            json.RawMessage
}

// PrepareResourceClaims prepares each claim by itself: one that cannot be had is no other's matter.
func (d *driver) PrepareResourceClaims(ctx context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		prepared, err := d.prepare(ctx, claim)
		result := kubeletplugin.PrepareResult{Err: err}
		for _, h := range prepared.Held {
			result.Devices = append(result.Devices, kubeletplugin.Device{
				Requests: []string{h.Request}, PoolName: h.Pool, DeviceName: h.Device, CDIDeviceIDs: []string{h.CDIDevice},
			})
		}
		results[claim.UID] = result
	}
	return results, nil
}

// UnprepareResourceClaims releases claims by their UIDs alone.
func (d *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		known, err := d.load()
		if err == nil {
			err = d.release(known, claim.UID)
		}
		results[claim.UID] = err
	}
	return results, nil
}

// prepare writes the CDI spec before the checkpoint: after a crash in between the claim is unknown,
// and both Prepare and Unprepare find the spec, as its path follows from the UID.
func (d *driver) prepare(ctx context.Context, claim *resourceapi.ResourceClaim) (record, error) {
	// The caller may have gone away while the helper waited for its turn.
	if err := ctx.Err(); err != nil {
		return record{}, err
	}
	known, err := d.load()
	if err != nil {
		return record{}, err
	}
	wanted, err := d.wanted(claim)
	if err != nil {
		return record{}, err
	}
	before, again := known.Claims[claim.UID]
	switch {
	case !again:
		err = d.check(ctx, known, claim.UID, wanted)
	case slices.Equal(before.Held, wanted.Held):
		wanted = before
	default:
		err = fmt.Errorf("claim %s/%s was prepared for another allocation: unprepare it first", claim.Namespace, claim.Name)
	}
	if err == nil {
		err = write(d.specPath(claim.UID), wanted.Spec, specMode)
	}
	if err != nil {
		return record{}, err
	}
	if again {
		return wanted, nil
	}
	known.Claims[claim.UID] = wanted
	if err := d.save(known); err != nil {
		delete(known.Claims, claim.UID)
		return record{}, fmt.Errorf("%w (and then: %v)", err, d.release(known, claim.UID))
	}
	return wanted, nil
}

// wanted is what the claim's allocation gives to this driver.
func (d *driver) wanted(claim *resourceapi.ResourceClaim) (record, error) {
	made := record{Namespace: claim.Namespace, Name: claim.Name}
	spec := cdi.Spec{Version: cdiVersion, Kind: d.name + "/device"}
	for n, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != d.name {
			continue
		}
		config, err := d.config(claim, result.Request)
		if err != nil {
			return record{}, err
		}
		name := fmt.Sprintf("%s-%d", claim.UID, n)
		spec.Devices = append(spec.Devices, cdi.Device{Name: name, ContainerEdits: cdi.ContainerEdits{
			Env: []string{fmt.Sprintf("DRA_%s=mode=%s,label=%s", result.Device, config.Mode, config.Label)},
		}})
		made.Held = append(made.Held, held{
			Request: result.Request, Pool: result.Pool, Device: result.Device, CDIDevice: spec.Kind + "=" + name,
			Admin: result.AdminAccess != nil && *result.AdminAccess,
		})
	}
	var err error
	made.Spec, err = json.Marshal(spec)
	return made, err
}

// check refuses devices that are not there or that another claim has.
func (d *driver) check(ctx context.Context, known checkpoint, uid types.UID, wanted record) error {
	present := d.present()
	for _, h := range wanted.Held {
		if h.Pool != d.node || !slices.Contains(present, h.Device) {
			return fmt.Errorf("there is no device %q in pool %q", h.Device, h.Pool)
		}
		for other, holder := range known.Claims {
			if other == uid || !holder.excludes(h) {
				continue
			}
			if !d.gone(ctx, other, holder) {
				return fmt.Errorf("device %q is in use by claim %s/%s", h.Device, holder.Namespace, holder.Name)
			}
			if err := d.release(known, other); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r record) excludes(wanted held) bool {
	return slices.ContainsFunc(r.Held, func(h held) bool {
		return h.Pool == wanted.Pool && h.Device == wanted.Device && !h.Admin && !wanted.Admin
	})
}

// gone tells that a claim has disappeared without an Unprepare: no pod can use it any more.
func (d *driver) gone(ctx context.Context, uid types.UID, holder record) bool {
	claim, err := d.client.ResourceV1().ResourceClaims(holder.Namespace).Get(ctx, holder.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && claim.UID != uid
}
