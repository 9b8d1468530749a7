package main

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	kjson "sigs.k8s.io/json"
)

const configVersion, configKind = "go.dra.example/v1", "DeviceConfig"

// deviceConfig is the driver's opaque configuration.
type deviceConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Mode       string `json:"mode,omitempty"`
	Label      string `json:"label,omitempty"`
}

// config is what holds for a result of a request: the claim's before the class', the last one of each.
func (d *driver) config(claim *resourceapi.ResourceClaim, request string) (deviceConfig, error) {
	chosen := deviceConfig{Mode: "exclusive"}
	main, _, _ := strings.Cut(request, "/")
	for _, source := range []resourceapi.AllocationConfigSource{resourceapi.AllocationConfigSourceClass, resourceapi.AllocationConfigSourceClaim} {
		for n, entry := range claim.Status.Allocation.Devices.Config {
			covers := len(entry.Requests) == 0 || slices.Contains(entry.Requests, request) || slices.Contains(entry.Requests, main)
			if entry.Source != source || entry.Opaque == nil || entry.Opaque.Driver != d.name || !covers {
				continue
			}
			var err error
			if chosen, err = decode(entry.Opaque.Parameters.Raw); err != nil {
				return chosen, fmt.Errorf("configuration %d of claim %s/%s: %w", n, claim.Namespace, claim.Name, err)
			}
		}
	}
	return chosen, nil
}

// decode takes what it knows, and nothing else.
func decode(data []byte) (deviceConfig, error) {
	config := deviceConfig{}
	strict, err := kjson.UnmarshalStrict(data, &config)
	switch {
	case err != nil:
		return config, err
	case len(strict) > 0:
		return config, strict[0]
	case config.APIVersion != configVersion || config.Kind != configKind:
		return config, fmt.Errorf("it is %s %s, not %s %s", config.APIVersion, config.Kind, configVersion, configKind)
	}
	if config.Mode == "" {
		config.Mode = "exclusive"
	}
	if config.Mode != "exclusive" && config.Mode != "shared" {
		return config, fmt.Errorf("mode %q is neither exclusive nor shared", config.Mode)
	}
	return config, nil
}
