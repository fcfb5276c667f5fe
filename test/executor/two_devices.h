// Two executors' sessions, on devices of eight chunks each, and one store; a program of the first that may go to the second.
#pragma once

#include <thread>

#include "test/executor/sharing_fixture.h"

namespace rouse::executor {

using Recipe = channel::SessionRecipe;

struct TwoDevices {
  wire::OwnedFd file = SharingFixture::file(80 * kG);
  SharingFixture a{file, 0}, b;
  // Where the second one's part of the store begins; 0: it is the first one's, which that does not use any more.
  explicit TwoDevices(std::uint64_t second = 40 * kG) : b(file, second) {}

  static std::shared_ptr<FakeImage> image(bool variable = true) {
    return FakeImage::ofOneKernel(variable);
  }
  // A program of the first device with some of everything.
  Client& start(std::uint64_t granules) {
    who = a.add(granules);
    Client& client = *a.clients[who];
    a.sessions[who]->install(7, image());
    const std::uint64_t variables[] = {client.window() + 4096};
    client.send(wire::ModuleBind{.module = {0, 1}, .moduleId = 7}, std::span(variables));
    client.send(wire::ModuleUnbind{.module = {0, 1}});
    client.send(wire::ModuleBind{.module = {0, 2}, .moduleId = 7}, std::span(variables));
    client.send(wire::StreamCreate{.stream = {1, 1}, .flags = 1, .priority = -1});
    client.send(wire::StreamCreate{.stream = {2, 1}, .flags = 0, .priority = 0});
    client.send(wire::StreamDestroy{.stream = {1, 1}});
    client.send(wire::HostMap{.base = client.pinned(), .bytes = 8192});
    client.send(wire::SetLimit{.limit = 0, .value = 4096});
    client.send(wire::SetLimit{.limit = 0, .value = 2048});
    client.send(wire::Allocated{.base = client.window(), .bytes = 100});
    client.send(wire::Fill{.stream = {2, 1}, .destination = client.window() + kG, .count = 8, .elementBytes = 1});
    client.send(wire::SlotSignal{.stream = {2, 1}, .value = 5, .slot = 2});
    a.settle();
    REQUIRE_FALSE(a.sessions[who]->fault());
    REQUIRE(client.value(2) == 5);
    return client;
  }
  Recipe exported() {
    const std::uint64_t request = ask(a, who);
    a.settle();
    REQUIRE(a.answers.contains(request));
    INFO(a.answers.at(request).error().message);
    REQUIRE(a.answers.at(request).ok());
    return a.recipes.at(request);
  }
  std::uint64_t ask(SharingFixture& from, std::size_t which) {
    const std::uint64_t request = ++requests;
    from.exports[request] = from.sessions[which].get();
    REQUIRE(from.moves.beginExport(request, from.sessions[which]->id()).ok());
    return request;
  }
  // A dormant session on the other device, with the module.
  Session& dormant() {
    channel::OpenSession request = a.clients[who]->request;
    request.dormant = true;
    auto opened = Session::open(request, a.clients[who]->fds(), b.surroundings);
    REQUIRE(opened.ok());
    (*opened)->install(7, image());
    b.sessions.push_back(std::move(*opened));
    return *b.sessions.back();
  }
  static void await(Session& session) {
    while (!session.imported()) std::this_thread::yield();
  }
  void close(SharingFixture& on, std::size_t which) {
    on.sessions[which]->beginClose();
    on.settle();
    REQUIRE(on.sessions[which]->closed());
    on.sessions.erase(on.sessions.begin() + static_cast<std::ptrdiff_t>(which));
  }
  // What the homes of a recipe hold.
  std::vector<std::vector<std::byte>> content(const Recipe& recipe) {
    std::vector<std::vector<std::byte>> pages;
    for (const auto& granule : recipe.granules) pages.emplace_back(b.view->at(granule.home), b.view->at(granule.home) + kG);
    return pages;
  }

  std::size_t who = 0;
  std::uint64_t requests = 1000;
};

}  // namespace rouse::executor
