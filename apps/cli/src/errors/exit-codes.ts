/** What the end of a command means, in every command. No command chooses its own for an error. */
export type ExitCode = 1 | 2 | 3 | 4 | 5 | 6 | 70 | 130

/** Codes of errors that are no wrong call. All others are: 2. */
const CODES: Readonly<Record<string, ExitCode>> = {
  // The answer is no.
  history_rewritten: 1,
  gateway_check_failed: 1,
  not_in_log: 1,
  // Not known.
  keys_needed: 3,
  decision_not_found: 3,
  entry_not_found: 3,
  // The authority refused, or the network ended what the command needs.
  certificate_revoked: 4,
  // No connection, or what answers is not the network that was asked.
  unreachable: 5,
  another_network: 5,
  genesis_mismatch: 5,
  unusable_answer: 5,
  authority_unreachable: 5,
  outcome_unknown: 5,
  invalid_signature: 5,
  invalid_list: 5,
  invalid_checkpoint: 5,
  invalid_decision_bundle: 5,
  invalid_token: 5,
  // This machine.
  authority_halted: 6,
  authority_not_ready: 6,
  gateway_halted: 6,
  gateway_not_ready: 6,
  machine_not_ready: 6,
  node_halted: 6,
  node_not_ready: 6,
  port_in_use: 6,
  service_not_stopped: 6,
  system_error: 6,
  write_failed: 6,
  unexpected: 70,
  cancelled: 130,
}

export function exitCodeOf(code: string): ExitCode {
  return Object.hasOwn(CODES, code) ? (CODES[code] ?? 2) : 2
}
