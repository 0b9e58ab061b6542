import { expect, test } from 'vitest'
import { isPublicAddress } from './address.ts'

test.each([
  ['this machine', ['127.0.0.1', '127.255.255.254', '::1', '0.0.0.0', '0.1.2.3', '::']],
  ['private networks', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1']],
  ['link-local addresses', ['169.254.0.1', 'fe80::1', 'febf::1', 'fe80::1%eth0']],
  [
    'metadata services',
    ['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::254'],
  ],
  ['unique local addresses', ['fc00::1', 'fdff::1', 'fec0::1']],
  ['carrier-grade NAT', ['100.64.0.1', '100.127.255.255']],
  ['mapped addresses', ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '0:0:0:0:0:ffff:a00:1']],
  [
    'addresses that contain another',
    ['::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::1', '2002:7f00:1::', '2001:0:1::'],
  ],
  [
    'documentation and benchmarks',
    ['192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '2001:db8::1', '3fff::1'],
  ],
  ['multicast and broadcast', ['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', 'ff02::1']],
  ['no address', ['', 'localhost', '127.1', '0x7f.0.0.1', '2130706433', '1.2.3', '1.2.3.4.5', '[::1]']],
])('%s are not public', (_, addresses) => {
  for (const address of addresses) expect(isPublicAddress(address), address).toBe(false)
})

test('hosts of the internet are public', () => {
  for (const address of [
    ...[
      '1.1.1.1',
      '8.8.8.8',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
    ],
    ...['128.0.0.0', '172.15.255.255', '172.32.0.0', '168.63.129.15', '192.167.255.255', '223.255.255.255'],
    ...['2606:4700:4700::1111', '2001:4860:4860::8888', '2a00:1450:4001::1'],
  ])
    expect(isPublicAddress(address), address).toBe(true)
})
