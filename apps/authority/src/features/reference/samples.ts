import type { JsonObject } from '@chancery/protocol'

/**
 * A point of the curve made from a hash, so that no party has its private key. A copied example must not grant
 * anything to the holder of a published key.
 */
export const SAMPLE_KEY = 'dd38+7oDIpdFAVBkgoRFYyIEAUjwg7qPOidEgvy68+4='

/** Has the form of a signature and verifies under no key. */
export const SAMPLE_SIGNATURE =
  'dd38+7oDIpdFAVBkgoRFYyIEAUjwg7qPOidEgvy68+4BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=='

export const SAMPLE_DIGEST: string = '5a'.repeat(32)

/** The import of a feed checks its signature with its form, so this one is signed. The private key was not stored. */
export const SAMPLE_FEED_KEY = '/wLhI+tJQRyLZV9r5mB8TALazOjlP7inHUgt+dxy51I='
export const SAMPLE_FEED: JsonObject = {
  feed_id: 'feed-id',
  issuer_sovereign_id: 'sovereign-id',
  sequence: 1,
  issued_at: '2026-01-01T00:00:00Z',
  revoked_attestation_ids: ['attestation-id'],
  revocation_reasons: { 'attestation-id': 'superseded' },
  issued_by: 'key-id',
  signatures: [
    {
      key_id: 'key-id',
      sig: 'xvkmTDs/4ENw3NGKlsUuWUvSwxJLm8qKRNW+SxMCaltHTiiZNirxgIYJnNo93cqsS0Wd79lJoCUWve3lqdzsDA==',
    },
  ],
}
