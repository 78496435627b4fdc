import { describe, expect, it } from 'vitest'
import { readPrivateKeyFile, readPublicKeyFile, writePrivateKeyFile, writePublicKeyFile } from './keys.ts'

const SEED = 'WNmUvBw4eVW+FvKzqmqX4JFFne7ae3AY1M7wopPnF7o='
const KEY = 'xkDJSaRh6CbP8CHxk12w600CYuv9TFCLIS3hemfVvJE='

describe('key files', () => {
  it('are written as protocol/core 2 shows them', () => {
    expect(writePrivateKeyFile(SEED, 'na-example')).toBe(`# Ed25519 Private Key\n# Key ID: na-example\n${SEED}\n`)
    expect(writePublicKeyFile(KEY)).toBe(`# Ed25519 Public Key\n${KEY}\n`)
  })

  it('are read back', () => {
    expect(readPrivateKeyFile(writePrivateKeyFile(SEED, 'na-example'))).toEqual({ keyId: 'na-example', value: SEED })
    expect(readPublicKeyFile(writePublicKeyFile(KEY))).toEqual({ keyId: undefined, value: KEY })
  })

  it.each([
    ['CRLF line ends', `# Ed25519 Public Key\r\n# Key ID: k\r\n${KEY}\r\n`],
    ['no last line end', `# Key ID: k\n${KEY}`],
    ['spaces around the value', `# Key ID: k\n  ${KEY}\t\n`],
    ['a value over two lines', `# Key ID: k\n${KEY.slice(0, 20)}\n${KEY.slice(20)}\n`],
    ['comments and empty lines anywhere', `\n# a\n${KEY}\n\n# Key ID: k\n# z\n`],
  ])('are read with %s', (_name, text) => {
    expect(readPublicKeyFile(text)).toEqual({ keyId: 'k', value: KEY })
  })

  it.each([
    ['nothing', ''],
    ['comments only', '# Ed25519 Public Key\n# Key ID: k\n'],
    ['two keys', `${KEY}\n${KEY}\n`],
    ['a short key', `${KEY.slice(0, 40)}\n`],
    ['a space inside the value', `${KEY.slice(0, 20)} ${KEY.slice(20)}\n`],
    ['a text after the value', `${KEY} # mine\n`],
    ['PEM', '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n'],
  ])('are refused with %s', (_name, text) => {
    expect(readPublicKeyFile(text)).toBeUndefined()
    expect(readPrivateKeyFile(text)).toBeUndefined()
  })

  it('with a point of small order hold no public key', () => {
    expect(readPublicKeyFile('AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=')).toBeUndefined()
  })
})
