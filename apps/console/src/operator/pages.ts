import type { IconName } from './parts/icons.ts'

/** What every page gets. */
export interface PageProps {
  /** The parts of the path in braces. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

export interface PageEntry {
  /** Segments in braces are parameters. */
  readonly path: string
  readonly title: string
  /** The question that the page answers. It is shown next to the title. */
  readonly asks: string
  /** Present when the side navigation lists the page. */
  readonly nav?: { readonly group: '' | 'Network' | 'Rules' | 'Proof'; readonly icon: IconName; readonly isLast?: true }
  /** The letter after `g` that opens it. */
  readonly key?: string
  /** The folder below `pages/` whose `page.tsx` exports `Page`. Its script is loaded when the page is opened first. */
  readonly folder: string
}

/**
 * The registry: one entry per page, in the order of the navigation. README.md in apps/console shows how to add one. The
 * build reads this file too, so it imports types and data only.
 */
export const PAGES: readonly PageEntry[] = [
  {
    path: '/operator',
    title: 'Overview',
    asks: 'What needs attention now?',
    nav: { group: '', icon: 'home' },
    key: 'o',
    folder: 'overview',
  },
  {
    path: '/operator/start',
    title: 'First steps',
    asks: 'What do I do first?',
    folder: 'start',
  },
  {
    path: '/operator/nodes',
    title: 'Nodes',
    asks: 'Which nodes are in the network, and which are silent?',
    nav: { group: 'Network', icon: 'node' },
    key: 'n',
    folder: 'nodes',
  },
  {
    path: '/operator/nodes/{key}',
    title: 'Node',
    asks: 'What happened to this node?',
    folder: 'node',
  },
  {
    path: '/operator/certificates/{cert_id}',
    title: 'Certificate',
    asks: 'Which node holds this certificate?',
    folder: 'certificate',
  },
  {
    path: '/operator/agents',
    title: 'Agents',
    asks: 'Which agents offer what, and where can they be reached?',
    nav: { group: 'Network', icon: 'agent' },
    key: 'a',
    folder: 'agents',
  },
  {
    path: '/operator/agents/{key}',
    title: 'Agent',
    asks: 'What does this agent offer?',
    folder: 'agent',
  },
  {
    path: '/operator/partners',
    title: 'Partners & treaties',
    asks: 'Whose members do we accept, and until when?',
    nav: { group: 'Network', icon: 'partners' },
    key: 'p',
    folder: 'partners',
  },
  {
    path: '/operator/partners/{sovereign_id}',
    title: 'Partner',
    asks: 'What is agreed with this network, and what depends on it?',
    folder: 'partner',
  },
  {
    path: '/operator/treaties/{treaty_id}',
    title: 'Treaty',
    asks: 'Which partner has this treaty?',
    folder: 'treaty',
  },
  {
    path: '/operator/attestations/{attestation_id}',
    title: 'Attestation',
    asks: 'Which member was attested, and for how long?',
    folder: 'attestation',
  },
  {
    path: '/operator/policies',
    title: 'Policies',
    asks: 'Which rules are in force, and which are ready?',
    nav: { group: 'Rules', icon: 'policy' },
    key: 'b',
    folder: 'policies',
  },
  {
    path: '/operator/policies/{policy_id}',
    title: 'Policy',
    asks: 'Which version is in force?',
    folder: 'policy',
  },
  {
    path: '/operator/policies/{policy_id}/draft',
    title: 'Policy draft',
    asks: 'What would change, and for whom?',
    folder: 'policy-draft',
  },
  {
    path: '/operator/decisions',
    title: 'Decisions',
    asks: 'What was asked, what was decided, and why?',
    nav: { group: 'Rules', icon: 'decision' },
    key: 'd',
    folder: 'decisions',
  },
  {
    path: '/operator/decisions/{decision_id}',
    title: 'Decision',
    asks: 'Why was this the outcome, and can it be proved?',
    folder: 'decision',
  },
  {
    path: '/operator/evidence',
    title: 'Evidence',
    asks: 'Is every entry still there, and unchanged?',
    nav: { group: 'Proof', icon: 'evidence' },
    key: 'e',
    folder: 'evidence',
  },
  {
    path: '/operator/resources/{resource_id}',
    title: 'Resource',
    asks: 'What was done to this resource?',
    folder: 'history',
  },
  {
    path: '/operator/vendors/{vendor_id}',
    title: 'Vendor',
    asks: 'What did this vendor ask for?',
    folder: 'history',
  },
  {
    path: '/operator/audit',
    title: 'Audit',
    asks: 'Who did what, when and from where?',
    nav: { group: 'Proof', icon: 'audit' },
    key: 'u',
    folder: 'audit',
  },
  {
    path: '/operator/keys',
    title: 'Keys & settings',
    asks: 'Which keys are accepted here, and until when?',
    nav: { group: '', icon: 'key', isLast: true },
    key: 'k',
    folder: 'keys',
  },
  {
    path: '/operator/help',
    title: 'Help',
    asks: 'How do I…?',
    nav: { group: '', icon: 'help', isLast: true },
    key: 'h',
    folder: 'help',
  },
]
