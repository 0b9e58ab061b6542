import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** IPv4 addresses that are not on the public internet, and two that are and lead to a cloud's own services. */
const closed4 = blockListOf('ipv4', [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT; also a metadata service
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's metadata
  '169.254.0.0/16', // link-local; also the metadata service of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; also a metadata service
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
])

/**
 * The only public IPv6 addresses. Outside of it are loopback, link-local and unique local addresses, and those that
 * contain an IPv4 address: mapped (::ffff:0:0/96), translated (64:ff9b::/96), compatible (::/96).
 */
const open6 = blockListOf('ipv6', ['2000::/3'])
/** Parts of it that are no hosts, or lead to an IPv4 address. */
const closed6 = blockListOf('ipv6', [
  '2001::/23', // protocol assignments, with Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
])

/** Whether an address is one of the public internet, and not of this machine, its network or its cloud. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closed4.check(address, 'ipv4')
  // With a zone ('fe80::1%eth0') it is link-local.
  if (!isIPv6(address) || address.includes('%')) return false
  return open6.check(address, 'ipv6') && !closed6.check(address, 'ipv6')
}

function blockListOf(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}
