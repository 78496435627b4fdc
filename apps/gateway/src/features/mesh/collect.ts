import type { MeshFeed, MeshImport, MeshLink, MeshMember } from '@chancery/contract'
import { writeJson } from '@chancery/protocol'
import { LINK_LIMIT, MEMBER_LIMIT, compare } from './mesh-document.ts'
import { type Facts, projectFeed, projectImports, projectLinks, projectMembers } from './project.ts'

/** Number of members in one page of `?network=`. */
export const MEMBERS_PER_PAGE = 500

/** One page of a list of the authority. */
export interface PageTask {
  readonly list: 'links' | 'members'
  readonly bytes: Uint8Array
}

export interface SingleDocuments {
  readonly feed: Uint8Array | undefined
  readonly dashboard: Uint8Array | undefined
}

export interface SingleResults {
  readonly feed: MeshFeed | null
  readonly imports: readonly MeshImport[] | undefined
}

export interface LinksResult {
  readonly links: readonly MeshLink[]
}

export interface MembersResult {
  /** The first members, for the document. */
  readonly members: readonly MeshMember[]
  readonly count: number
  /** All members by {@link MEMBERS_PER_PAGE}, as JSON arrays. Texts move between threads without a copy. */
  readonly pages: readonly string[]
}

/** Collects the pages of one network until its lists are complete. */
export class NetworkCollector {
  readonly #facts: Facts
  readonly #links = new Map<string, MeshLink>()
  readonly #members = new Map<string, MeshMember>()

  constructor(facts: Facts) {
    this.#facts = facts
  }

  /** Adds a page. Of records with equal ids the first is used. */
  async add({ list, bytes }: PageTask): Promise<{ readonly next: string | undefined } | undefined> {
    const page = list === 'links' ? await this.#addLinks(bytes) : await this.#addMembers(bytes)
    return page === undefined ? undefined : { next: page.next }
  }

  async readSingles({ feed, dashboard }: SingleDocuments): Promise<SingleResults> {
    return { feed: await projectFeed(feed, this.#facts), imports: projectImports(dashboard, this.#facts) }
  }

  readLinks(): LinksResult {
    const links = [...this.#links.values()].sort((a, b) => compare(a.id, b.id))
    return { links: links.slice(0, LINK_LIMIT) }
  }

  readMembers(): MembersResult {
    const all = [...this.#members.values()].sort((a, b) => compare(orderOf(a), orderOf(b)))
    const pages: string[] = []
    for (let at = 0; at < all.length; at += MEMBERS_PER_PAGE)
      pages.push(writeJson(all.slice(at, at + MEMBERS_PER_PAGE)))
    return { members: all.slice(0, MEMBER_LIMIT), count: all.length, pages }
  }

  async #addLinks(bytes: Uint8Array) {
    const page = await projectLinks(bytes, this.#facts)
    for (const link of page?.shown ?? []) if (!this.#links.has(link.id)) this.#links.set(link.id, link)
    return page
  }

  async #addMembers(bytes: Uint8Array) {
    const page = await projectMembers(bytes, this.#facts)
    for (const member of page?.shown ?? []) if (!this.#members.has(member.id)) this.#members.set(member.id, member)
    return page
  }
}

function orderOf({ subject, id }: MeshMember): string {
  return `${subject}\0${id}`
}
