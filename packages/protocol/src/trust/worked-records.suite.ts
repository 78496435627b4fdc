import type { JoinCertificate } from '../artifacts/join-certificate.ts'
import { readPublicKey } from '../signing/keys.ts'
import type { RevocationList } from '../artifacts/crl.ts'

/** The worked examples of protocol/gateway Appendix A: keys of seeds of 32 equal bytes 0x11 and 0x22. */
export const AUTHORITY_KEY = '0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc='
export const NODE_KEY = 'oJql9HpnWYAv+VX43C0qFKXJnSO+l/hkEn/5ODRVpPA='

/** A.1 */
export const CERTIFICATE: JoinCertificate = {
  cert_id: 'cert-7f',
  node_public_key: NODE_KEY,
  network_name: 'r\u00e9seau-1',
  roles: ['role:client', 'role:anchor'],
  issued_at: '2026-03-01T08:00:00Z',
  expires_at: '2026-03-08T08:00:00.250000Z',
  issued_by: 'na-main',
  signatures: [
    {
      key_id: 'na-main',
      sig: 'co3X19fIFtMngHqAFBAyxeXZPnIVZEFGn+aNeNzpvreEUML5MaWf7xB67+dZuCBW3Ib3Uure9vEKvgD+8wNGDQ==',
    },
  ],
}

/** A.2 */
export const LIST: RevocationList = {
  crl_id: 'crl-9',
  sequence: 9,
  issued_at: '2026-03-02T00:00:00Z',
  next_update: '2026-03-03T00:00:00Z',
  issuer: 'na-main',
  revoked_certificates: [
    {
      certificate_id: 'cert-55',
      revoked_at: '2026-03-01T23:59:58.000001Z',
      reason: 'key_compromise',
      issuer: 'na-main',
    },
  ],
  signatures: [
    {
      key_id: 'na-main',
      sig: 'CcIxH3XzLRFtS5A2up5PFABM2Kl7yo943f0GIcwRMDCat3LXIPRBeV+xK+qlD4MgeKYcBHWph1yL/sG3MphSCQ==',
    },
  ],
}

export function keyBytes(text: string): Uint8Array {
  const bytes = readPublicKey(text)
  if (bytes === undefined) throw new Error('no key')
  return bytes
}
