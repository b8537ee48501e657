//! Set-up: what Debian splits into packages of its own and a machine may lack.

use anyhow::bail;

use crate::children::Children;
use crate::project::Project;

/// Installs these packages, as root and where there is `apt-get`; elsewhere the error says what
/// is missing and how to get it.
pub(super) fn install(
    project: &Project,
    children: &Children,
    missing: &str,
    packages: &[&str],
) -> anyhow::Result<()> {
    let has_apt = children.succeeds(project.command("apt-get").arg("--version"));
    if !has_apt || !rustix::process::geteuid().is_root() {
        bail!("{missing}; run: sudo apt-get install {}", packages.join(" "));
    }
    children.run(project.command("apt-get").arg("update"))?;
    let mut install = project.command("apt-get");
    install.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    children.run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}
