"""The conic programs in CVXPY, one file per formulation, the backends that solve them, and `conic`, their driver."""
