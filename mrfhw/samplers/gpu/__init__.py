"""Gibbs sampling and first labels by paths on OpenCL devices, in whole numbers (backend "gpu"). How chains take turns is in backends."""
