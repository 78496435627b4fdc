import type { LookupAddress, lookup } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { Problems } from '../policy/form.ts'
import { checkUrl } from '../policy/urls.ts'
import { addressForms, guardedLookup, isCallable } from '@chancery/service-kit'

/** Hosts of a policy URL: unspecified, link-local, metadata, multicast, reserved. */
const HOSTS = [
  // Unspecified
  '0.0.0.0',
  '0',
  '0x0',
  '00.0.0.0',
  '0.1.2.3',
  '[::]',
  '[0:0:0:0:0:0:0:0]',
  '[::0.0.0.0]',
  '[::ffff:0.0.0.0]',
  '[::ffff:0:0.0.0.0]',
  '[64:ff9b::0.0.0.0]',
  '[2002:0:0::]',
  // Link-local, which most cloud metadata services use
  '169.254.0.1',
  '169.254.169.254',
  '169.254.169.254.',
  '169.254.43518',
  '169.16689662',
  '2852039166',
  '0xA9FEA9FE',
  '0xa9.0xfe.0xa9.0xfe',
  '0251.0376.0251.0376',
  '0251.0xfe.43518',
  '%31%36%39.254.169.254',
  '１６９.２５４.１６９.２５４',
  '①⑥⑨.254.①⑥⑨.254',
  '169。254。169。254',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[0:0:0:0:0:FFFF:A9FE:A9FE]',
  '[::ffff:0:169.254.169.254]',
  '[::169.254.169.254]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[64:ff9b:1:ffff::169.254.169.254]',
  '[2002:a9fe:a9fe::]',
  '[2002:a9fe:a9fe::1]',
  '[2001:0:4136:e378:8000:63bf:5601:5601]',
  '[fe80::1]',
  '[FE80:0:0:0:0:0:0:1]',
  '[febf:ffff::1]',
  '[fe80::a9fe:a9fe]',
  // Metadata elsewhere
  '100.100.100.200',
  '0x64.100.0144.200',
  '[::ffff:100.100.100.200]',
  '168.63.129.16',
  '[64:ff9b::168.63.129.16]',
  '192.0.0.192',
  '[fd00:ec2::254]',
  '[fd00:0ec2:0:0:0:0:0:254]',
  '[fd20:ce::254]',
  // Multicast, broadcast, reserved
  '224.0.0.1',
  '239.255.255.250',
  '0xe0000001',
  '240.0.0.1',
  '255.255.255.255',
  '4294967295',
  '[ff02::1]',
  '[FF05::2]',
  '[ff0e::1]',
  '[::ffff:224.0.0.1]',
  '[64:ff9b::239.255.255.250]',
  '[2002:e000:1::]',
]

const ADDRESSES = HOSTS.map((host) => new URL(`https://${host}/`).hostname.replace(/^\[(.*)\]$/, '$1'))

it('has at least sixty spellings', () => {
  expect(new Set(HOSTS).size).toBeGreaterThanOrEqual(60)
})

describe.each(HOSTS)('%s', (host) => {
  it('is refused in a policy URL, with https and with http allowed', () => {
    for (const [url, allowHttp] of [
      [`https://${host}/`, false],
      [`https://${host}:8443/`, true],
      [`http://${host}/`, true],
    ] as const) {
      for (const origin of [true, false]) {
        const problems = new Problems()
        expect(checkUrl(url, 'authority_url', problems, { allowHttp, origin })).toBeUndefined()
        expect(problems.list.map(({ path }) => path)).toEqual(['authority_url'])
      }
    }
  })
})

/** A name server that returns one answer for every name. */
function answering(addresses: readonly string[]): typeof lookup {
  const found: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  const fake = (_name: string, _options: unknown, done: (error: null, found: LookupAddress[]) => void): void =>
    done(null, found)
  return fake as unknown as typeof lookup
}

function resolved(addresses: readonly string[], allowPrivate: boolean): Promise<readonly string[] | 'refused'> {
  return new Promise((resolve) => {
    guardedLookup((address) => isCallable(address, allowPrivate), answering(addresses))(
      'name.example',
      { all: true },
      (error, found) => resolve(error === null ? (found as LookupAddress[]).map(({ address }) => address) : 'refused'),
    )
  })
}

describe('a name that resolves', () => {
  it('to one of them is refused under every policy', async () => {
    for (const address of ADDRESSES) {
      const plain = address.replace(/\.$/, '')
      expect([plain, await resolved([plain], true)]).toEqual([plain, 'refused'])
      expect([plain, await resolved([plain], false)]).toEqual([plain, 'refused'])
    }
  })

  it('to several is connected only to allowed ones', async () => {
    expect(await resolved(['169.254.169.254', '93.184.216.34', 'fe80::1'], false)).toEqual(['93.184.216.34'])
    expect(await resolved(['fe80::1%eth0'], true)).toBe('refused')
    expect(await resolved([], true)).toBe('refused')
  })

  it('to a private or loopback address is accepted only where plain http is allowed', async () => {
    const inside = [
      '127.0.0.1',
      '10.1.2.3',
      '172.31.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '::1',
      'fd12::1',
      '::ffff:10.0.0.1',
    ]
    for (const address of inside) {
      expect([address, await resolved([address], false)]).toEqual([address, 'refused'])
      expect([address, await resolved([address], true)]).toEqual([address, [address]])
    }
  })
})

describe('allowed addresses', () => {
  it('are literals of the policy, and public addresses', () => {
    for (const address of ['93.184.216.34', '2606:2800:220:1::1', '::ffff:93.184.216.34', '64:ff9b::5db8:d822'])
      expect([address, isCallable(address, false)]).toEqual([address, true])
    for (const address of ['127.0.0.1', '::1', '10.0.0.1']) expect(isCallable(address, true)).toBe(true)
    for (const text of ['', 'name.example', '1.2.3', '[::1', 'fe80::1%eth0']) expect(isCallable(text, true)).toBe(false)
  })

  it('are checked in every notation', () => {
    expect(addressForms('::ffff:a9fe:a9fe')).toEqual(['0:0:0:0:0:ffff:a9fe:a9fe', '169.254.169.254'])
    expect(addressForms('2001:0:4136:e378:8000:63bf:5601:5601').at(-1)).toBe('169.254.169.254')
    expect(addressForms('::1')).toEqual(['0:0:0:0:0:0:0:1'])
  })
})
