//! What breaks while tickets are on their way: the database, its disk, its connections, the
//! provider, and what clients send.
//!
//! Whatever it is, the books of [`load`] must balance: a ticket that was accepted is there once and
//! whole, one that was refused has a documented error, and the service recovers by itself.

mod exhausted;
mod frozen;
mod full_disk;
mod gone;
mod load;
mod locked;
mod lost_commit;
mod malformed;
mod restart;
mod slow_provider;
