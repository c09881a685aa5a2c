//! Status as server-side apply patches: each controller writes its own fields (spec/1 §3.10).
