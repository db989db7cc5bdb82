"""Classes of grey or colour in a picture."""
