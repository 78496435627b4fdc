import type { Run } from './context.ts'

/** Loads the code of a command; nothing is loaded that is not run. */
export type Load = () => Promise<{ readonly run: Run }>

/** By the words of the command. A test holds this list and contract's COMMANDS together. */
export const IMPLEMENTATIONS: Readonly<Record<string, Load>> = {
  init: () => import('./commands/init/init.ts'),
  'keygen root': () => import('./commands/keygen/keygen.ts'),
  'keygen network-authority': () => import('./commands/keygen/keygen.ts'),
  'keygen operator': () => import('./commands/keygen/keygen.ts'),
  'keygen node': () => import('./commands/keygen/keygen.ts'),
  'genesis create': () => import('./commands/genesis/create.ts'),
  'genesis sign': () => import('./commands/genesis/sign.ts'),
  'genesis verify': () => import('./commands/genesis/verify.ts'),
  'authority start': () => import('./commands/authority/start.ts'),
  invite: () => import('./commands/enrollment/invite.ts'),
  join: () => import('./commands/enrollment/join.ts'),
  status: () => import('./commands/enrollment/status.ts'),
  heartbeat: () => import('./commands/enrollment/heartbeat.ts'),
  renew: () => import('./commands/enrollment/renew.ts'),
  'node run': () => import('./commands/enrollment/run.ts'),
  nodes: () => import('./commands/enrollment/nodes.ts'),
  revoke: () => import('./commands/crl/revoke.ts'),
  'agent announce': () => import('./commands/agents/announce.ts'),
  'agent find': () => import('./commands/agents/find.ts'),
  'agent show': () => import('./commands/agents/show.ts'),
  'agent withdraw': () => import('./commands/agents/withdraw.ts'),
  'operator revoke': () => import('./commands/operator/revoke.ts'),
  'network-policy show': () => import('./commands/network-policy/show.ts'),
  'network-policy publish': () => import('./commands/network-policy/publish.ts'),
  'network-policy rollback': () => import('./commands/network-policy/rollback.ts'),
  completion: () => import('./commands/completion/completion.ts'),
}
