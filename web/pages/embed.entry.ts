// Puts the form of a plan into a page of another site: <script src=".../pages/embed.js" data-plan="ID"></script>.
//
// The form stays a page of the collector, in a frame: this site sees neither questions, answers nor reports. It hears
// how high the empty form is, from that frame alone, and nothing once somebody answers. The collector must allow this site: hush serve --embed ORIGIN.
{
  const script = document.currentScript as HTMLScriptElement | null;
  const plan = script?.dataset["plan"] ?? "";
  if (script !== null && /^[\da-f]{64}$/.test(plan)) {
    const { origin } = new URL(script.src);
    const frame = document.createElement("iframe");
    const lang = script.dataset["lang"];
    const query = new URLSearchParams({ plan, embedder: location.origin, ...(lang === undefined ? {} : { lang }) });
    frame.src = `${origin}/?${query.toString()}`;
    frame.title = script.dataset["title"] ?? "Survey";
    frame.referrerPolicy = "no-referrer";
    frame.style.cssText = "width:100%;height:40rem;border:0";
    addEventListener("message", ({ origin: from, source, data }: MessageEvent<unknown>) => {
      if (from !== origin || source !== frame.contentWindow) return;
      const height = (data as { hushHeight?: unknown } | null)?.hushHeight;
      if (typeof height !== "number" || !(height >= 0)) return;
      frame.style.height = `${Math.min(Math.max(Math.ceil(height), 100), 20_000)}px`;
    });
    script.after(frame);
  }
}
