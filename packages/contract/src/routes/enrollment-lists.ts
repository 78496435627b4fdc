import { field, shape } from '@chancery/protocol'
import { body } from '../form.ts'
import { cursorQuery, listOf, paging, text, textOrNull, whole } from '../members.ts'

const { mapOf, nullable, oneOf, open, optional, required } = shape

const roles = listOf(shape.string, 64)
const certificateState = oneOf('valid', 'superseded', 'expired', 'revoked')

/** What operators see of nodes and certificates, and name. The table of enrollment has these routes. */
export const listFacts = {
  // With operator headers the call spends from the admin limit, and headers that fail never get the public answer.
  nodes: {
    id: 'GET /nodes',
    access: 'public-or-operator:standard',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Active nodes',
    purpose: 'Counts active nodes and names them to a verified operator.',
    answer: open({
      count: whole,
      /** By certificate id. Only for operators. */
      nodes: optional(
        mapOf(
          open({
            node_public_key: text,
            roles,
            status: text,
            last_heartbeat: text,
            remote_addr: text,
            expires_at: text,
            label: textOrNull,
          }),
        ),
      ),
    }),
    gateway: { operation: 'health-list-nodes', group: 'network', signed: true },
  },
  certificates: {
    id: 'GET /admin/certificates',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Inventory of certificates',
    purpose: 'Lists every certificate ever issued with its state and the label of its node.',
    errors: ['invalid_input', 'invalid_page', 'invalid_timestamps', 'unexpected_field'],
    query: {
      ...cursorQuery,
      state: certificateState,
      cert_id: shape.string,
      node_public_key: shape.string,
      role: shape.string,
      /** Contained in the label, in any case. */
      label: shape.string,
      issued_since: shape.string,
      issued_until: shape.string,
      expires_before: shape.string,
    },
    /** Newest first. A page with a filter may have fewer rows than the limit although there are more. */
    answer: open({
      count: whole,
      certificates: listOf(
        open({
          cert_id: text,
          node_public_key: text,
          roles,
          issued_at: text,
          expires_at: text,
          state: required(certificateState),
          revoked_at: textOrNull,
          revocation_reason: textOrNull,
          renewed_from: textOrNull,
          renewed_by: textOrNull,
          /** This and the next two are null after a revocation, and some time after the end. */
          last_heartbeat: textOrNull,
          heartbeat_status: textOrNull,
          remote_addr: textOrNull,
          label: textOrNull,
        }),
      ),
      ...paging,
    }),
    gateway: {
      operation: 'admin-list-certificates',
      group: 'administration',
      query: [
        'cert_id',
        'cursor',
        'expires_before',
        'issued_since',
        'issued_until',
        'label',
        'limit',
        'node_public_key',
        'role',
        'state',
      ],
      since: 'v0.60',
    },
  },
  labelNode: {
    id: 'POST /admin/nodes/label',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Label a node',
    purpose: 'Names a node key for operators, or removes its name.',
    errors: ['invalid_input', 'invalid_public_key', 'node_not_found'],
    body: body(
      'invalid_input',
      {
        node_public_key: required(field.publicKey),
        /** Null removes the name. */
        label: required(nullable(shape.string)),
      },
      { node_public_key: '<public key>', label: 'Berlin 3' },
    ),
    answer: open({ node_public_key: text, label: textOrNull }),
    idempotent: true,
    gateway: { operation: 'admin-label-node', group: 'administration', since: 'v0.60' },
  },
} as const
