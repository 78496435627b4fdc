/** The one policy the script of the console may make: the address of its layout thread. */
export const SCRIPT_POLICY = 'chancery-layout-script'

/** The one policy of the operator console, named in OPERATOR_PAGE_HEADERS: the address of its verifying thread. */
export const WORKER_POLICY = 'chancery-worker'

/**
 * In the head of every page of the console, before any script: no text becomes markup or script there. A meta element,
 * because the Content-Security-Policy header has a fixed text (protocol/core 3, protocol/gateway 5.4); a browser applies both.
 */
export function trustedTypesPolicy(...policies: readonly string[]): string {
  return `require-trusted-types-for 'script'; trusted-types ${policies.length === 0 ? "'none'" : policies.join(' ')}`
}
