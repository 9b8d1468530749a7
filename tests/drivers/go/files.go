package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
)

const (
	stateMode, specMode fs.FileMode = 0o600, 0o644

	// temporary ends the name of a file that is being written: the same each time, so that what a
	// crash leaves behind is found again.
	temporary = ".tmp"
)

// checkpoint is what the driver has prepared since the boot of this id: no claim outlives a reboot.
type checkpoint struct {
	BootID string
	Claims map[types.UID]record
}

func (d *driver) checkpointPath() string { return filepath.Join(d.dataDir, "checkpoint.json") }

func (d *driver) specPath(uid types.UID) string {
	return filepath.Join(d.cdiDir, d.name+"-"+url.PathEscape(string(uid))+".json")
}

func (d *driver) load() (checkpoint, error) {
	var stored checkpoint
	if err := remove(d.checkpointPath() + temporary); err != nil {
		return stored, err
	}
	data, err := os.ReadFile(d.checkpointPath())
	if err == nil {
		err = json.Unmarshal(data, &stored)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return stored, fmt.Errorf("checkpoint %s is damaged, remove it when no pod uses a device: %w", d.checkpointPath(), err)
	}
	if stored.BootID != d.bootID || stored.Claims == nil {
		stored = checkpoint{BootID: d.bootID, Claims: map[types.UID]record{}}
	}
	return stored, nil
}

func (d *driver) save(known checkpoint) error {
	data, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return write(d.checkpointPath(), data, stateMode)
}

// release removes the claim's CDI spec, then forgets the claim; one that is unknown is released.
func (d *driver) release(known checkpoint, uid types.UID) error {
	spec := d.specPath(uid)
	if err := errors.Join(remove(spec), remove(spec+temporary)); err != nil {
		return err
	}
	if _, found := known.Claims[uid]; !found {
		return nil
	}
	delete(known.Claims, uid)
	return d.save(known)
}

// write puts the whole of data in the place of what is there, or leaves that alone.
func write(path string, data []byte, mode fs.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path+temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(path+temporary, path)
	}
	if err != nil {
		return errors.Join(err, remove(path+temporary))
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
