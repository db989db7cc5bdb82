"""Gibbs sampling and first labels on OpenCL devices, in whole numbers (backend "gpu"). Chains take turns in backends."""
