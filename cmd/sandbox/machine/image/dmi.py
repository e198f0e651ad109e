

# Appended by lkeplan: a namespace has no SMBIOS. On a Linode these say where it runs, and its id.
def read_dmi_data(key):
    if key == "system-manufacturer":
        return "Akamai"
    if key == "system-serial-number":
        with open("/etc/linode-id") as id:
            return id.read().strip()
    return None
