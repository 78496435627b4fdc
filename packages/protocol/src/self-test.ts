import { toBase64 } from './canonical/base64.ts'
import { canonicalJson } from './canonical/canonical-json.ts'
import { readJson } from './canonical/read-json.ts'
import { sha256Hex } from './canonical/digest.ts'
import { toUtf8 } from './canonical/utf8.ts'
import { verifySignature } from './signing/keys.ts'

/** Worked examples of protocol/core 1.2 and 10.1: a platform that disagrees with them would sign other bytes. */
const CANONICAL = [
  [
    '{"b":[1.0,1,true,null],"a":"Zoë\\u007f\\n😀/","\\uE000":1,"😀":2}',
    '{"a":"Zo\\u00eb\\u007f\\n\\ud83d\\ude00/","b":[1.0,1,true,null],"\\ue000":1,"\\ud83d\\ude00":2}',
  ],
  [
    '[90.00,9.0e1,1E5,1e15,1e16,0.0001,0.00001,5e-324,123456789012345680.0,-0,-0.0,90,18446744073709551615]',
    '[90.0,90.0,100000.0,1000000000000000.0,1e+16,0.0001,1e-05,5e-324,1.2345678901234568e+17,0,-0.0,90,18446744073709551615]',
  ],
] as const

const SIGNED = {
  text: '{"allowed_ports":[443,8443],"allowed_services":["service-1","service-2"],"issued_at":"2030-01-01T00:00:01Z","issued_by":"na-example","min_client_version":"0.1.0","policy_id":"policy-EXAMPLE-NET-v0.1","routing":{"max_hops":6,"preferred_transports":["quic","wireguard"]}}',
  sha256: '05a57b12f86bca79e3eb883781165393a1d4554bb00722ddcf9ca5c1c4679bc7',
  key: 'xkDJSaRh6CbP8CHxk12w600CYuv9TFCLIS3hemfVvJE=',
  sig: 'KycJwKU00Uc0NXT1hOWduBUsqLdRAT7NF83xZTGxVBt+TmieNFrJoh6l54M6AvVGku+YS7bh1dBUVWNCWFvIAw==',
}

/** A key of small order and a signature that some platforms accept under it for every message. */
const IDENTITY_KEY = toBase64(Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 1 : 0)))
const IDENTITY_SIG = toBase64(Uint8Array.from({ length: 64 }, (_, i) => (i === 0 ? 1 : 0)))

/** Returns the failed checks of this platform by name; empty when it may sign and verify. Run at every start. */
export async function findPlatformFaults(): Promise<readonly string[]> {
  const message = toUtf8(SIGNED.text)
  const checks = {
    'canonical JSON': CANONICAL.every(([input, expected]) => canonicalJson(readJson(input)) === expected),
    'SHA-256': sha256Hex(message) === SIGNED.sha256,
    'a good signature': await verifySignature(SIGNED.key, message, SIGNED.sig),
    'another message': !(await verifySignature(SIGNED.key, toUtf8(`${SIGNED.text} `), SIGNED.sig)),
    'a weak key': !(await verifySignature(IDENTITY_KEY, message, IDENTITY_SIG)),
  }
  return Object.entries(checks).flatMap(([name, isValid]) => (isValid ? [] : [name]))
}
