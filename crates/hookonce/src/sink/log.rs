//! To come with its first commit.
