import { type Routes, routes } from '../route.ts'

const facts = {
  offer: {
    id: 'POST /admin/agreements/offer',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Offer an agreement',
    purpose: 'Builds and signs a capability offer for another sovereign.',
    gateway: { operation: 'agreement-build-offer-route', group: 'agreement' },
  },
  counter: {
    id: 'POST /admin/agreements/counter',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Counter an offer',
    purpose: 'Builds and signs narrower terms in answer to an offer.',
    records: { offer: 'invalid_offer' },
    gateway: { operation: 'agreement-build-counter-route', group: 'agreement' },
  },
  accept: {
    id: 'POST /admin/agreements/accept',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Accept an offer or a counter',
    purpose: 'Signs the agreement record that follows from an offer or a counter.',
    records: { offer: 'accept_rejected', counter: 'accept_rejected', original_offer: 'accept_rejected' },
    gateway: { operation: 'agreement-accept-route', group: 'agreement' },
  },
  verify: {
    id: 'POST /agreements/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify an agreement',
    purpose: 'Verifies an agreement record without storing anything.',
    records: { agreement: 'invalid_agreement' },
    gateway: { operation: 'agreement-verify-route', group: 'agreement' },
  },
} as const

/** Negotiation of capabilities between two sovereigns (protocol/trust-operations 3). */
export const agreements: Routes<typeof facts> = routes(facts)
