import type { NetworkFinding } from '@chancery/sdk/authority'

export interface NeedLink {
  readonly action: string
  readonly href: string
}

const part = (text: string | null): string => encodeURIComponent(text ?? '')
const partner = ({ about }: NetworkFinding, act: string): string => `/operator/partners/${part(about)}?do=${act}`
const WATCHED_PARTNERS = { action: 'Look', href: '/operator/partners?state=watch' }

/** The page or the drawer that ends a finding, by its check. */
const LINKS: Readonly<Record<string, (finding: NetworkFinding) => NeedLink | undefined>> = {
  // A treaty that ended cannot be renewed.
  treaty: (finding) =>
    finding.status === 'bad'
      ? { action: 'Recognise…', href: '/operator/partners?do=recognise' }
      : { action: 'Renew…', href: partner(finding, 'renew') },
  'peer-feed': (finding) => ({ action: 'Import…', href: partner(finding, 'import') }),
  'partner-alarm': () => WATCHED_PARTNERS,
  'partner-stale': () => WATCHED_PARTNERS,
  'partner-contact': () => WATCHED_PARTNERS,
  'feed-denials': () => WATCHED_PARTNERS,
  'treaty-keys': ({ about }) => ({ action: 'Replace…', href: `/operator/treaties/${part(about)}?do=replace` }),
  policies: draft,
  'policy-end': draft,
  'nodes-silent': () => ({ action: 'Look', href: '/operator/nodes?state=silent' }),
  'certificates-ending': () => ({ action: 'Look', href: '/operator/nodes?state=ends_soon' }),
  'operator-refusals': () => ({ action: 'Look', href: '/operator/audit?kind=refusals' }),
  // Without entries only the setting ends it.
  'evidence-anchors': ({ at }) =>
    at === null ? undefined : { action: 'Anchor…', href: '/operator/evidence?do=anchor' },
}

function draft({ about }: NetworkFinding): NeedLink {
  return about === null
    ? { action: 'Open', href: '/operator/policies' }
    : { action: 'Draft…', href: `/operator/policies/${part(about)}/draft` }
}

/** What ends a finding: a page or a drawer of the console, or else the command and what it does. */
export function linkOf(finding: NetworkFinding): NeedLink {
  const link = Object.hasOwn(LINKS, finding.check) ? LINKS[finding.check]?.(finding) : undefined
  return link ?? { action: 'How', href: `/operator?open=${finding.check}` }
}
