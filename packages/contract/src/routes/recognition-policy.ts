import { readRecognitionPolicy, shape } from '@chancery/protocol'
import { type AnswerOf, body } from '../form.ts'
import { flag, record, text } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const facts = {
  current: {
    id: 'GET /recognition-policy',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Active recognition policy',
    purpose: 'Gives the policy under which foreign attestations are accepted.',
    errors: ['recognition_policy_not_configured'],
    answer: record('recognition-policy', readRecognitionPolicy),
    gateway: { operation: 'attestations-get-recognition-policy', group: 'attestations' },
  },
  // It may list 50000 revoked ids, far beyond the normal reading limits.
  publish: {
    id: 'POST /admin/recognition-policy',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Set the recognition policy',
    purpose: 'Stores a recognition policy and makes it the only active one.',
    errors: ['invalid_recognition_policy'],
    body: body(
      'invalid_recognition_policy',
      { recognition_policy: shape.required(shape.object), policy_id: shape.optional(shape.string) },
      {
        recognition_policy: {
          local_sovereign_id: '<own sovereign id>',
          recognized_issuers: [
            { sovereign_id: '<sovereign id>', public_keys: ['<public key>'], allowed_roles: ['role:client'] },
          ],
        },
      },
    ),
    answer: shape.open({ policy_id: text, local_sovereign_id: text, active: flag }),
    /** A repeat changes only the time. */
    idempotent: true,
    readLimit: 'large',
    gateway: { operation: 'attestations-save-recognition-policy', group: 'attestations' },
  },
} as const

/** Whose attestations this authority accepts; a local document without signature (protocol/core 16). */
export const recognitionPolicy: Routes<typeof facts> = routes(facts)

export type SavedRecognitionPolicy = AnswerOf<typeof recognitionPolicy.publish>
