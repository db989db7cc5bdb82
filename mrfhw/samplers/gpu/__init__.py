"""Gibbs sampling by OpenCL devices, in whole numbers (backend "gpu"). How chains take turns is in backends."""
