import { SettingError } from '@chancery/service-kit'
import { describe, expect, it } from 'vitest'
import { keyUri } from './key-uri.ts'

const TOKEN = 'pkcs11:token=chancery;object=na-1?module-path=/lib/hsm.so'
const VAULT = 'vault+https://vault.example:8200/transit/na-1'
const VERSION = 'projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1'

describe('a key URI', () => {
  it.each<[string, unknown]>([
    [TOKEN, { provider: 'pkcs11', modulePath: '/lib/hsm.so', tokenLabel: 'chancery', keyLabel: 'na-1', sessions: 4 }],
    [
      'pkcs11:object=na%20key%3B1;token=My%20Token+1;type=private?sessions=64&module-path=/opt/a%26b.so',
      { provider: 'pkcs11', modulePath: '/opt/a&b.so', tokenLabel: 'My Token+1', keyLabel: 'na key;1', sessions: 64 },
    ],
    [
      VAULT,
      {
        provider: 'vault',
        origin: 'https://vault.example:8200',
        mount: 'transit',
        key: 'na-1',
        keyVersion: 1,
        namespace: undefined,
        caFile: undefined,
      },
    ],
    [
      'vault+https://[::1]/sealed/transit/na%20key?version=7&namespace=team/a&ca-file=/etc/ca.pem',
      {
        provider: 'vault',
        origin: 'https://[::1]',
        mount: 'sealed/transit',
        key: 'na key',
        keyVersion: 7,
        namespace: 'team/a',
        caFile: '/etc/ca.pem',
      },
    ],
    [
      `gcpkms://${VERSION}`,
      { provider: 'gcp-kms', keyVersion: VERSION, origin: 'https://cloudkms.googleapis.com', caFile: undefined },
    ],
    [
      `gcpkms://${VERSION}?endpoint=https://kms.example:444&ca-file=/ca.pem`,
      { provider: 'gcp-kms', keyVersion: VERSION, origin: 'https://kms.example:444', caFile: '/ca.pem' },
    ],
  ])('is read: %s', (uri, place) => expect(keyUri(uri)).toEqual(place))

  it.each<[string, string]>([
    ['', 'must begin with pkcs11:, vault+https:// or gcpkms://'],
    ['/etc/na.key', 'must begin with'],
    ['PKCS11:token=chancery', 'must begin with'],
    ['vault+http://vault.example/transit/na', 'must be vault+https://HOST/MOUNT/KEY'],
    ['https://vault.example/transit/na', 'must begin with'],
    // Without a part, or with one that is not known.
    ['pkcs11:', 'must have token, object and module-path'],
    ['pkcs11:token=chancery;object=na-1', 'must have token, object and module-path'],
    ['pkcs11:object=na-1?module-path=/lib/hsm.so', 'must have token, object and module-path'],
    ['pkcs11:token=chancery?module-path=/lib/hsm.so', 'must have token, object and module-path'],
    ['pkcs11:tokens=a;object=na-1?module-path=/l', 'must have nothing but token, object, type before'],
    [`pkcs11:slot-id=1;token=a;object=b?module-path=/l`, 'must have nothing but token, object, type before'],
    [`${TOKEN}&session=1`, 'must have nothing but module-path, sessions, former-object after'],
    [`${TOKEN}&module-path=/m`, 'must have module-path once'],
    [`pkcs11:token=a;token=b;object=c?module-path=/l`, 'must have token once'],
    [`pkcs11:token;object=c?module-path=/l`, 'must have a value of token'],
    [`pkcs11:token=;object=c?module-path=/l`, 'must have a value of token'],
    [`pkcs11:token=My Token;object=c?module-path=/l`, 'must have a value of token'],
    [`pkcs11:token=a%zz;object=c?module-path=/l`, 'must have a value of token'],
    [`pkcs11:token=a%ff;object=c?module-path=/l`, 'must have a value of token'],
    [`pkcs11:token=a%0a;object=c?module-path=/l`, 'must have a value of token'],
    [`pkcs11:token=a;object=b;type=cert?module-path=/l`, 'must have no type but private'],
    ...['0', '65', 'x', '04'].map((n): [string, string] => [`${TOKEN}&sessions=${n}`, 'sessions must be a whole']),
    // A secret in the URI.
    [`${TOKEN}&pin-value=hunter2`, 'must have no PIN: NA_KEY_TOKEN_FILE'],
    [`${TOKEN}&pin-source=file:/hunter2`, 'must have no PIN: NA_KEY_TOKEN_FILE'],
    [`pkcs11:pin-value=hunter2`, 'must have no PIN: NA_KEY_TOKEN_FILE'],
    ['vault+https://hunter2@vault.example/transit/na', 'without a user'],
    ['vault+https://vault.example/transit/na?token=hunter2', 'must have nothing but version, namespace, ca-file'],
    [`gcpkms://hunter2@${VERSION}`, 'must be gcpkms://projects/'],
    // Other places of services.
    ['vault+https://vault.example', 'must be vault+https://HOST/MOUNT/KEY'],
    ['vault+https://vault.example/na', 'must be vault+https://HOST/MOUNT/KEY'],
    ['vault+https://vault.example/transit/', 'must have a value of the path'],
    ['vault+https://vault.example/transit/../sys/na', 'must be vault+https://HOST/MOUNT/KEY'],
    ['vault+https://vault.example/transit/%2e%2e/sys/na', 'must be vault+https://HOST/MOUNT/KEY'],
    ['vault+https://vault.example/a%2F..%2Fsys/na', 'must be vault+https://HOST/MOUNT/KEY'],
    [`${VAULT}#x`, 'must be vault+https://HOST/MOUNT/KEY'],
    [`${VAULT}?version=0`, 'version must be a whole number'],
    [`${VAULT}?version=latest`, 'version must be a whole number'],
    ['vault+https://vault.example:x/transit/na', 'the server must be an https origin'],
    ['gcpkms://projects/p/../k', 'must be gcpkms://projects/'],
    [`gcpkms://${VERSION.replace('/1', '/0')}`, 'must be gcpkms://projects/'],
    [`gcpkms:${VERSION}`, 'must be gcpkms://projects/'],
    [`gcpkms://${VERSION}?endpoint=http://kms.example`, 'endpoint must be an https origin'],
    [`gcpkms://${VERSION}?endpoint=https://kms.example/v1`, 'endpoint must be an https origin'],
  ])('is refused: %s', (uri, words) => {
    expect(() => keyUri(uri)).toThrow(SettingError)
    expect(() => keyUri(uri)).toThrow(words)
    expect(() => keyUri(uri)).not.toThrow('hunter2')
  })
})
