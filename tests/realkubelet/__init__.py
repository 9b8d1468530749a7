"""What a real kubelet asks of a real driver, written down by a proxy between them."""
