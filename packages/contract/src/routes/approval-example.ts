/** The example of protocol/approvals. */
export const STATEMENT_EXAMPLE = {
  type: 'chancery.approval-statement.v1',
  statement_id: '57a70000-0000-4000-8000-000000000001',
  approval_id: 'a99c0000-0000-4000-8000-000000000001',
  approval_request_digest: 'cff0e50f3db4c480fed3f11e4ea9a0e6d04822d46cb0f7e72a6c6d5cac9874c3',
  verdict: 'approve',
  approver: { kind: 'operator', id: 'ops-1', sovereign_id: 'EXAMPLE-NET' },
  public_key: 'pMuHQ3p1+N4iK7k067k2RF6L275pcjSiBepQZtAkl+A=',
  stated_at: '2030-01-02T12:05:00Z',
  reason: null,
  signature: {
    key_id: 'ops-1',
    sig: 'LNmEgBYEm5gF+GzBluUXFoRH9x+EKI+V6JsT/51djqg9h2KWCbi7ixdFdK8zfOR0T5qs0Crw64LcgU2bd2lTBA==',
  },
} as const
